/** The interface of the model that anywidget passes to a module: the kernel's side of the widget. */

export interface IAnyWidgetModel {
  get(name: 'key' | 'session'): string;
  send(content: unknown): void;
  on(event: string, callback: (content: unknown) => void): void;
  off(event: string, callback: (content: unknown) => void): void;
}

/** The events of a comm that was closed or cut off; Backbone calls its listeners with them. */
const END_EVENTS = ['comm_live_update', 'comm:close', 'destroy'];

/** Follows the messages of a comm and its end; returns a function that stops this. */
export function followComm(
  model: IAnyWidgetModel,
  onMessage: (content: unknown) => void,
  onEnd: () => void
): () => void {
  model.on('msg:custom', onMessage);
  END_EVENTS.forEach(eventName => {
    model.on(eventName, onEnd);
  });
  return () => {
    model.off('msg:custom', onMessage);
    END_EVENTS.forEach(eventName => {
      model.off(eventName, onEnd);
    });
  };
}

/** The model of `session.inspect()`. */
export type InspectorWidgetModel = IAnyWidgetModel & {
  /**
   * The link to what is shown, which the kernel writes and reads, too; the prices with which it opened, '' for those of
   * the recorded model.
   */
  get(name: 'place' | 'price'): string;
  /** Names of parts: those that are shown alone, and those that are not revealed yet. */
  get(name: 'views' | 'hidden'): readonly string[];
  set(name: 'place', link: string): void;
  save_changes(): void;
  /** Whether the session can be written. */
  get(name: 'own'): boolean;
};
