/**
 * Finds the elements in which a session's view is drawn.
 *
 * A cell holds a static HTML rendering, which is what is saved. While the kernel lives, the live view
 * is drawn over it: the notebook contains no widget that could be dead after a reload. When the HTML
 * is written anew, the view moves with it and keeps its state, with scroll positions and focus.
 *
 * Two widget managers of one kernel each open the widget, as where a notebook is opened again while its
 * former view still closes. The newest draws.
 */

import { ScrollAndFocus } from './scrollAndFocus';

/** The attribute of a drawn element with the number of its `MountPoints`; a later one has a higher number. */
const NUMBER_ATTRIBUTE = 'data-plm-mount';

/** The key by which all copies of this module in a page share the last number. */
const LAST_NUMBER_KEY = Symbol.for('palimpsest.mountNumber');

/** Finds the saved HTML elements of one widget, draws into each, and keeps looking for new ones. */
export class MountPoints {
  private readonly _number = nextNumber();
  private readonly _mounts = new Map<Element, IMount>();
  private readonly _observer: MutationObserver;
  private _isUpdatePlanned = false;

  constructor(
    private readonly _className: string,
    private readonly _draw: (container: HTMLElement) => () => void
  ) {
    this._observer = new MutationObserver(() => {
      this._updateSoon();
    });
    this._observer.observe(document.body, { childList: true, subtree: true });
    this._updateSoon();
  }

  dispose(): void {
    this._observer.disconnect();
    for (const savedElement of this._mounts.keys()) {
      this._unmount(savedElement);
    }
  }

  /** Schedules one search for all changes of a task, before they are painted. */
  private _updateSoon(): void {
    if (this._isUpdatePlanned) {
      return;
    }
    this._isUpdatePlanned = true;
    queueMicrotask(() => {
      this._isUpdatePlanned = false;
      this._updateMounts();
    });
  }

  private _updateMounts(): void {
    const savedElements = [...document.getElementsByClassName(this._className)];
    const detachedMounts = [...this._mounts].filter(
      ([savedElement]) => !savedElement.isConnected
    );
    for (const savedElement of savedElements) {
      if (this._hasNewerWidget(savedElement)) {
        this._unmount(savedElement);
        continue;
      }
      if (this._mounts.has(savedElement)) {
        continue;
      }
      const reusedMount = detachedMounts.pop();
      if (reusedMount !== undefined) {
        this._mounts.delete(reusedMount[0]);
      }
      const mount = reusedMount?.[1] ?? this._mount();
      savedElement.append(mount.container);
      mount.scrollAndFocus.restore();
      this._mounts.set(savedElement, mount);
    }
  }

  /** Returns whether a newer widget draws in an element. */
  private _hasNewerWidget(savedElement: Element): boolean {
    return [...savedElement.children].some(
      child => Number(child.getAttribute(NUMBER_ATTRIBUTE)) > this._number
    );
  }

  private _unmount(savedElement: Element): void {
    const mount = this._mounts.get(savedElement);
    this._mounts.delete(savedElement);
    mount?.end();
    mount?.container.remove();
  }

  private _mount(): IMount {
    const container = document.createElement('div');
    container.setAttribute(NUMBER_ATTRIBUTE, String(this._number));
    const scrollAndFocus = new ScrollAndFocus(container);
    return { container, end: this._draw(container), scrollAndFocus };
  }
}

function nextNumber(): number {
  const shared = window as { [LAST_NUMBER_KEY]?: number };
  shared[LAST_NUMBER_KEY] = (shared[LAST_NUMBER_KEY] ?? 0) + 1;
  return shared[LAST_NUMBER_KEY];
}

interface IMount {
  container: HTMLElement;
  end: () => void;
  /** The reader's scroll positions and focus in the container. */
  scrollAndFocus: ScrollAndFocus;
}
