/**
 * A Lumino layout that attaches widgets to given elements inside the parent's node.
 *
 * React draws a segment; the Markdown in it is drawn by JupyterLab's own renderers, which are Lumino
 * widgets and typeset maths only when they are attached.
 */
import { MessageLoop } from '@lumino/messaging';
import { Layout, Widget } from '@lumino/widgets';

/** Holds widgets by the element that each is attached to. */
export class SlotLayout extends Layout {
  private readonly _widgets = new Set<Widget>();

  /** Attaches a widget to an element inside the parent's node. */
  put(widget: Widget, container: HTMLElement): void {
    this._widgets.add(widget);
    widget.parent = this.parent;
    const isParentAttached = this.parent?.isAttached === true;
    if (isParentAttached) {
      MessageLoop.sendMessage(widget, Widget.Msg.BeforeAttach);
    }
    container.appendChild(widget.node);
    if (isParentAttached) {
      MessageLoop.sendMessage(widget, Widget.Msg.AfterAttach);
    }
  }

  /** Detaches a widget; its owner disposes of it. */
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
