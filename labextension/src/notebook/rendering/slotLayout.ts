/**
 * A layout whose widgets stand in places that somebody else drew.
 *
 * React draws the page of a segment; the Markdown in it is drawn by JupyterLab's own renderers,
 * which are Lumino widgets and typeset maths only when they are told that they were attached.
 */
import { MessageLoop } from '@lumino/messaging';
import { Layout, Widget } from '@lumino/widgets';

/** Holds widgets by the node each of them stands in. */
export class SlotLayout extends Layout {
  private readonly _widgets = new Set<Widget>();

  /** Puts a widget into a node of the parent's page. */
  put(widget: Widget, place: HTMLElement): void {
    this._widgets.add(widget);
    widget.parent = this.parent;
    const attached = this.parent?.isAttached === true;
    if (attached) {
      MessageLoop.sendMessage(widget, Widget.Msg.BeforeAttach);
    }
    place.appendChild(widget.node);
    if (attached) {
      MessageLoop.sendMessage(widget, Widget.Msg.AfterAttach);
    }
  }

  /** Takes a widget out again; its owner disposes of it. */
  override removeWidget(widget: Widget): void {
    if (!this._widgets.delete(widget)) {
      return;
    }
    const attached = this.parent?.isAttached === true;
    if (attached) {
      MessageLoop.sendMessage(widget, Widget.Msg.BeforeDetach);
    }
    widget.node.remove();
    if (attached) {
      MessageLoop.sendMessage(widget, Widget.Msg.AfterDetach);
    }
    widget.parent = null;
  }

  override *[Symbol.iterator](): IterableIterator<Widget> {
    yield* this._widgets;
  }
}
