/** Preserves focus and scroll positions of an element that is moved in the page, which a browser drops. */

interface IScrollPosition {
  top: number;
  left: number;
}

/** Notes where the elements in a place are scrolled to and which has the focus, and brings both back. */
export class ScrollAndFocus {
  private readonly _scrollPositions = new Map<Element, IScrollPosition>();
  private _focused: HTMLElement | null = null;

  constructor(private readonly _place: HTMLElement) {
    _place.addEventListener('scroll', this._onScroll, {
      capture: true,
      passive: true
    });
    _place.addEventListener('focusin', this._onFocusIn);
    _place.addEventListener('focusout', this._onFocusOut);
  }

  /** Brings back what was noted, after the place was moved. */
  restore(): void {
    for (const [element, { top, left }] of this._scrollPositions) {
      if (this._place.contains(element)) {
        element.scrollTop = top;
        element.scrollLeft = left;
      } else {
        this._scrollPositions.delete(element);
      }
    }
    const focused = this._focused;
    const hasNone =
      document.activeElement === null ||
      document.activeElement === document.body;
    if (focused !== null && hasNone) {
      focused.focus({ preventScroll: true });
    }
  }

  private readonly _onScroll = ({ target }: Event) => {
    if (target instanceof Element && target.isConnected) {
      const { scrollTop: top, scrollLeft: left } = target;
      this._scrollPositions.set(target, { top, left });
    }
  };

  private readonly _onFocusIn = ({ target }: FocusEvent) => {
    this._focused = target instanceof HTMLElement ? target : null;
  };

  private readonly _onFocusOut = ({ target, relatedTarget }: FocusEvent) => {
    if (relatedTarget !== null) {
      this._focused = null;
      return;
    }
    // Without a target it went out of the page, a person clicked beside everything, or the place is being moved.
    queueMicrotask(() => {
      const isThere = target instanceof Node && target.isConnected;
      if (isThere && document.hasFocus() && this._focused === target) {
        this._focused = null;
      }
    });
  };
}
