/**
 * Finds the elements in which a session's view is drawn.
 *
 * A cell holds a static HTML rendering, which is what is saved. While the kernel lives, the live view
 * is drawn over it: the notebook contains no widget that could be dead after a reload. When the HTML
 * is written anew, the view moves with it and keeps its state, with scroll positions and focus.
 *
 * Two widget managers of one kernel, such as those of a notebook and of its console, or of a notebook
 * that is opened again while its former page still closes, each open the widget. The newest draws.
 */

import { ScrollAndFocus } from './scrollAndFocus';

/** The attribute of a drawn element with the number of its `MountPoints`; a later one has a higher number. */
const NUMBER = 'data-plm-mount';

/** The key by which all copies of this module in a page share the last number. */
const LAST_NUMBER = Symbol.for('palimpsest.mountNumber');

/** Finds the saved HTML elements of one widget, draws into each, and keeps looking for new ones. */
export class MountPoints {
  private readonly _number = nextNumber();
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
    for (const savedElement of this._mounted.keys()) {
      this._unmount(savedElement);
    }
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
      if (this._hasNewer(savedElement)) {
        this._unmount(savedElement);
        continue;
      }
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

  /** Returns whether a newer widget draws in an element. */
  private _hasNewer(savedElement: Element): boolean {
    return [...savedElement.children].some(
      child => Number(child.getAttribute(NUMBER)) > this._number
    );
  }

  private _unmount(savedElement: Element): void {
    const mounted = this._mounted.get(savedElement);
    this._mounted.delete(savedElement);
    mounted?.end();
    mounted?.container.remove();
  }

  private _mount(): IMounted {
    const container = document.createElement('div');
    container.setAttribute(NUMBER, String(this._number));
    const scrollAndFocus = new ScrollAndFocus(container);
    return { container, end: this._draw(container), scrollAndFocus };
  }
}

function nextNumber(): number {
  const shared = window as { [LAST_NUMBER]?: number };
  shared[LAST_NUMBER] = (shared[LAST_NUMBER] ?? 0) + 1;
  return shared[LAST_NUMBER];
}

interface IMounted {
  container: HTMLElement;
  end: () => void;
  /** The reader's scroll positions and focus in it. */
  scrollAndFocus: ScrollAndFocus;
}
