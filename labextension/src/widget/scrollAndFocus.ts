/** Preserves focus and scroll positions of an element that is moved in the page, which a browser drops. */

interface IScrollPosition {
  top: number;
  left: number;
}

/** Notes where the elements in a place are scrolled to and which has the focus, and brings both back. */
export class ScrollAndFocus {
  private readonly _scrollPositions = new Map<Element, IScrollPosition>();
  private _focusedElement: HTMLElement | null = null;

  constructor(private readonly _container: HTMLElement) {
    _container.addEventListener('scroll', this._onScroll, {
      capture: true,
      passive: true
    });
    _container.addEventListener('focusin', this._onFocusIn);
    _container.addEventListener('focusout', this._onFocusOut);
  }

  /** Brings back what was noted, after the place was moved. */
  restore(): void {
    for (const [element, { top, left }] of this._scrollPositions) {
      if (this._container.contains(element)) {
        element.scrollTop = top;
        element.scrollLeft = left;
      } else {
        this._scrollPositions.delete(element);
      }
    }
    const focusedElement = this._focusedElement;
    const isNothingFocused =
      document.activeElement === null ||
      document.activeElement === document.body;
    if (focusedElement !== null && isNothingFocused) {
      focusedElement.focus({ preventScroll: true });
    }
  }

  private readonly _onScroll = ({ target }: Event) => {
    if (target instanceof Element && target.isConnected) {
      const { scrollTop: top, scrollLeft: left } = target;
      this._scrollPositions.set(target, { top, left });
    }
  };

  private readonly _onFocusIn = ({ target }: FocusEvent) => {
    this._focusedElement = target instanceof HTMLElement ? target : null;
  };

  private readonly _onFocusOut = ({ target, relatedTarget }: FocusEvent) => {
    if (relatedTarget !== null) {
      this._focusedElement = null;
      return;
    }
    // Without a target it went out of the page, a person clicked beside everything, or the place is being moved.
    queueMicrotask(() => {
      const isThere = target instanceof Node && target.isConnected;
      if (isThere && document.hasFocus() && this._focusedElement === target) {
        this._focusedElement = null;
      }
    });
  };
}
