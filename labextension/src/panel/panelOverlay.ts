/**
 * Lays the panel over the notebook in a narrow window, where both side by side could not be read.
 *
 * The panel stays in its side area, so that the shell opens, closes and restores it as before. The area asks for
 * no width, and its boxes are left out, so that the panel is laid on the whole of what the areas divide among
 * themselves, and the notebook keeps its width.
 */
import { SplitLayout, type Widget } from '@lumino/widgets';
import type { IReadable } from '../state/store/kernelStore';
import { ReaderSet } from '../state/store/readerSet';

/** The media query below which the panel lies over the notebook. */
const NARROW_WINDOW = '(max-width: 599px)';

/** Holds whether the panel lies over the notebook, and lays it out accordingly. */
export class PanelOverlay implements IReadable<boolean> {
  private readonly _narrowQuery = window.matchMedia(NARROW_WINDOW);
  private readonly _readers = new ReaderSet();
  /** The widgets between the panel and what it is laid on. */
  private _boxes: Widget[] = [];

  constructor(
    private readonly _panel: Widget,
    /** Closes the panel. */
    private readonly _close: () => void
  ) {
    this._narrowQuery.addEventListener('change', this.update);
    document.addEventListener('focusin', this._onFocus);
  }

  readonly subscribe = this._readers.subscribe;

  readonly getSnapshot = (): boolean => this._boxes.length > 0;

  /** Begins or ends the overlay, as the window's width and the panel's visibility want it. */
  readonly update = (): void => {
    const boxes =
      this._narrowQuery.matches && this._panel.isVisible
        ? boxesOf(this._panel)
        : [];
    if (boxes.length > 0 === this.getSnapshot()) {
      return;
    }
    const changedBoxes = [...this._boxes, ...boxes];
    this._boxes = boxes;
    const isOn = this.getSnapshot();
    this._panel.toggleClass('plm-mod-overlay', isOn);
    for (const box of changedBoxes) {
      box.toggleClass('plm-OverlayBox', isOn);
    }
    fitBoxesAround(this._panel);
    this._readers.notify();
  };

  dispose(): void {
    this._narrowQuery.removeEventListener('change', this.update);
    document.removeEventListener('focusin', this._onFocus);
  }

  /** Closes the panel where the focus goes to what it covers: nobody sees what is typed there. */
  private readonly _onFocus = ({ target }: FocusEvent) => {
    const coveredNode = this._boxes.at(-1)?.parent?.node;
    if (
      coveredNode?.contains(target as Node) === true &&
      !this._panel.node.contains(target as Node)
    ) {
      this._close();
    }
  };
}

/**
 * Lays out anew what is around the panel, from the inside out: minimum widths are read only then. Each is fitted, since
 * not all of Notebook 7's boxes report a change to the one around them.
 */
export function fitBoxesAround(panel: Widget): void {
  const boxes = boxesOf(panel);
  [...boxes, boxes.at(-1)?.parent].forEach(box => box?.fit());
}

/** Returns the widgets around the panel, up to the one that is split into areas; none if there is no such one. */
function boxesOf({ parent }: Widget): Widget[] {
  const boxes: Widget[] = [];
  for (let box = parent; box !== null; box = box.parent) {
    if (box.layout instanceof SplitLayout) {
      return boxes;
    }
    boxes.push(box);
  }
  return [];
}
