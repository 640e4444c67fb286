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
  private readonly _mounted = new Map<Element, IMounted>();
  private readonly _observer: MutationObserver;
  private _isPlanned = false;

  constructor(
    private readonly _className: string,
    private readonly _draw: (container: HTMLElement) => () => void
  ) {
    this._observer = new MutationObserver(() => {
      this._findSoon();
    });
    this._observer.observe(document.body, { childList: true, subtree: true });
    this._findSoon();
  }

  dispose(): void {
    this._observer.disconnect();
    for (const { container, end } of this._mounted.values()) {
      end();
      container.remove();
    }
    this._mounted.clear();
  }

  /** Schedules one search for all changes of a task, before they are painted. */
  private _findSoon(): void {
    if (this._isPlanned) {
      return;
    }
    this._isPlanned = true;
    queueMicrotask(() => {
      this._isPlanned = false;
      this._find();
    });
  }

  private _find(): void {
    const savedElements = [...document.getElementsByClassName(this._className)];
    const detached = [...this._mounted].filter(
      ([savedElement]) => !savedElement.isConnected
    );
    for (const savedElement of savedElements) {
      if (this._mounted.has(savedElement)) {
        continue;
      }
      const reused = detached.pop();
      if (reused !== undefined) {
        this._mounted.delete(reused[0]);
      }
      const mounted = reused?.[1] ?? this._mount();
      savedElement.append(mounted.container);
      mounted.scrollAndFocus.restore();
      this._mounted.set(savedElement, mounted);
    }
  }

  private _mount(): IMounted {
    const container = document.createElement('div');
    const scrollAndFocus = new ScrollAndFocus(container);
    return { container, end: this._draw(container), scrollAndFocus };
  }
}

interface IMounted {
  container: HTMLElement;
  end: () => void;
  /** The reader's scroll positions and focus in it. */
  scrollAndFocus: ScrollAndFocus;
}
