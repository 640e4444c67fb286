/**
 * Asks an inspector's questions over a widget's comm.
 *
 * A comm is handled in a thread of its own if the kernel has subshells; otherwise the kernel answers when its
 * cell is done, and until then the inspector says that it waits.
 */
import type { ViewAnswer, ViewQuery } from '../protocol/generated';
import { newId } from '../protocol/ids';
import type { EditAction, IInspectorSource } from '../state/inspector/source';
import type { IAnyWidgetModel } from './anywidgetModel';

/** After so long without an answer the kernel is said to be busy. */
const BUSY_MS = 1_500;
/** The events of a comm that was closed or cut off; Backbone calls its listeners with them. */
const ENDS = ['comm_live_update', 'comm:close', 'destroy'];

export interface ISourceWords {
  /** Said while the kernel does not answer. */
  waits: string;
  /** Said when the kernel has ended. */
  ended: string;
}

interface IOpenQuestion<T> {
  since: number;
  resolve: (value: T) => void;
}

/**
 * A widget's comm as the source of an inspector.
 *
 * Responsibilities: match answers with questions; say that the kernel is busy or has ended; tell of growth.
 */
export class CommSource implements IInspectorSource {
  readonly edit?: (action: EditAction, part: string) => Promise<string>;
  private readonly _asked = new Map<string, IOpenQuestion<ViewAnswer>>();
  private readonly _edits = new Map<string, IOpenQuestion<string>>();
  private readonly _readers = new Set<() => void>();
  private _hasEnded = false;

  constructor(
    private readonly _model: IAnyWidgetModel,
    private readonly _words: ISourceWords,
    isOwn: boolean
  ) {
    if (isOwn) {
      this.edit = (action, part) =>
        this._send(
          this._edits,
          { kind: 'edit', action, part },
          this._words.ended
        );
    }
    _model.on('msg:custom', this._told);
    for (const end of ENDS) {
      _model.on(end, this._ended);
    }
  }

  get waits(): string | undefined {
    const oldest = Math.min(
      ...[...this._asked.values()].map(({ since }) => since)
    );
    return Date.now() - oldest > BUSY_MS ? this._words.waits : undefined;
  }

  readonly ask = (query: ViewQuery): Promise<ViewAnswer> =>
    this._send(this._asked, { kind: 'ask', query }, failed(this._words.ended));

  readonly subscribe = (changed: () => void): (() => void) => {
    this._readers.add(changed);
    return () => {
      this._readers.delete(changed);
    };
  };

  dispose(): void {
    this._model.off('msg:custom', this._told);
    for (const end of ENDS) {
      this._model.off(end, this._ended);
    }
    this._ended();
  }

  private _send<T>(
    waiting: Map<string, IOpenQuestion<T>>,
    content: object,
    otherwise: T
  ): Promise<T> {
    if (this._hasEnded) {
      return Promise.resolve(otherwise);
    }
    const id = newId();
    return new Promise(resolve => {
      waiting.set(id, { since: Date.now(), resolve });
      try {
        this._model.send({ ...content, id });
      } catch {
        // The comm is closed.
        waiting.delete(id);
        resolve(otherwise);
      }
    });
  }

  private readonly _told = (content: unknown): void => {
    if (!isMessage(content)) {
      return;
    }
    if (content.kind === 'answer') {
      settle(this._asked, content.id, content.answer ?? failed(''));
    } else if (content.kind === 'edited') {
      settle(this._edits, content.id, content.error ?? '');
    } else if (content.kind === 'changed') {
      [...this._readers].forEach(changed => {
        changed();
      });
    }
  };

  private readonly _ended = (): void => {
    this._hasEnded = true;
    for (const id of [...this._asked.keys()]) {
      settle(this._asked, id, failed(this._words.ended));
    }
    for (const id of [...this._edits.keys()]) {
      settle(this._edits, id, this._words.ended);
    }
  };
}

interface IMessage {
  kind: string;
  id?: string;
  answer?: ViewAnswer;
  error?: string;
}

function isMessage(content: unknown): content is IMessage {
  return typeof content === 'object' && content !== null && 'kind' in content;
}

function settle<T>(
  waiting: Map<string, IOpenQuestion<T>>,
  id: string | undefined,
  value: T
): void {
  const found = id === undefined ? undefined : waiting.get(id);
  if (id !== undefined && found !== undefined) {
    waiting.delete(id);
    found.resolve(value);
  }
}

function failed(error: string): ViewAnswer {
  return { unchanged: false, milliseconds: 0, error };
}
