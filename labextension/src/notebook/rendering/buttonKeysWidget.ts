/** The base of widgets with buttons of ours. */
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { keepButtonKeys } from './buttonKeys';

/** A widget that keeps the keys of its buttons while it is in the page. */
export class ButtonKeysWidget extends Widget {
  private _leaveKeys: () => void = () => undefined;

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._leaveKeys = keepButtonKeys(this.node);
  }

  protected override onBeforeDetach(message: Message): void {
    this._leaveKeys();
    super.onBeforeDetach(message);
  }
}
