/**
 * Finds the elements in which a session's view is drawn.
 *
 * A cell holds a static HTML rendering, which is what is saved. While the kernel lives, the live view
 * is drawn over it: the notebook contains no widget that could be dead after a reload. When the HTML
 * is written anew, the view moves with it and keeps its state, with scroll positions and focus.
 */

import { ScrollAndFocus } from './scrollAndFocus';

/** Finds the saved HTML elements of one widget, draws into each, and keeps looking for new ones. */
export class MountPoints {
  private readonly _drawn = new Map<Element, IMounted>();
  private readonly _observer: MutationObserver;
  private _planned = false;

  constructor(
    private readonly _mark: string,
    private readonly _draw: (place: HTMLElement) => () => void
  ) {
    this._observer = new MutationObserver(() => {
      this._look();
    });
    this._observer.observe(document.body, { childList: true, subtree: true });
    this._look();
  }

  dispose(): void {
    this._observer.disconnect();
    for (const { place, end } of this._drawn.values()) {
      end();
      place.remove();
    }
    this._drawn.clear();
  }

  /** Schedules one search for all changes of a task, before they are painted. */
  private _look(): void {
    if (this._planned) {
      return;
    }
    this._planned = true;
    queueMicrotask(() => {
      this._planned = false;
      this._find();
    });
  }

  private _find(): void {
    const pages = [...document.getElementsByClassName(this._mark)];
    const gone = [...this._drawn].filter(([page]) => !page.isConnected);
    for (const page of pages) {
      if (this._drawn.has(page)) {
        continue;
      }
      const old = gone.pop();
      if (old !== undefined) {
        this._drawn.delete(old[0]);
      }
      const drawn = old?.[1] ?? this._made();
      page.append(drawn.place);
      drawn.left.restore();
      this._drawn.set(page, drawn);
    }
  }

  private _made(): IMounted {
    const place = document.createElement('div');
    const left = new ScrollAndFocus(place);
    return { place, end: this._draw(place), left };
  }
}

interface IMounted {
  place: HTMLElement;
  end: () => void;
  /** How the reader left it. */
  left: ScrollAndFocus;
}
