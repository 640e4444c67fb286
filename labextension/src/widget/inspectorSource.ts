/**
 * Asks an inspector's questions over a widget's comm.
 *
 * A comm is handled in a thread of its own if the kernel has subshells; otherwise the kernel answers when its
 * cell is done, and until then the inspector says that it waits.
 */
import type { ViewAnswer, ViewQuery } from '../protocol/generated';
import { newId } from '../protocol/ids';
import type {
  ComparedSide,
  EditAction,
  IInspectorSource,
  INoteWords
} from '../state/inspector/source';
import type { IAnyWidgetModel } from './anywidgetModel';
import { ReaderSet } from '../state/store/readerSet';

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
  readonly note?: (words: INoteWords) => Promise<ViewAnswer>;
  private readonly _questions = new Map<string, IOpenQuestion<ViewAnswer>>();
  private readonly _edits = new Map<string, IOpenQuestion<string>>();
  private readonly _readers = new ReaderSet();
  private _hasEnded = false;

  constructor(
    private readonly _model: IAnyWidgetModel,
    private readonly _words: ISourceWords,
    isOwn: boolean,
    /** Of two sessions, the one that is asked about; the second is only read. */
    private readonly _side: ComparedSide = 'first'
  ) {
    if (_side === 'first') {
      this.note = words =>
        this._send(
          this._questions,
          { kind: 'note', words },
          errorAnswer(this._words.ended)
        );
    }
    if (isOwn) {
      this.edit = (action, part) =>
        this._send(
          this._edits,
          { kind: 'edit', action, part },
          this._words.ended
        );
    }
    _model.on('msg:custom', this._onMessage);
    for (const end of ENDS) {
      _model.on(end, this._onEnd);
    }
  }

  get waits(): string | undefined {
    const oldest = Math.min(
      ...[...this._questions.values()].map(({ since }) => since)
    );
    return Date.now() - oldest > BUSY_MS ? this._words.waits : undefined;
  }

  readonly ask = (query: ViewQuery): Promise<ViewAnswer> =>
    this._send(
      this._questions,
      {
        kind: 'ask',
        query,
        ...(this._side === 'first' ? {} : { side: this._side })
      },
      errorAnswer(this._words.ended)
    );

  readonly subscribe = this._readers.subscribe;

  dispose(): void {
    this._model.off('msg:custom', this._onMessage);
    for (const end of ENDS) {
      this._model.off(end, this._onEnd);
    }
    this._onEnd();
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

  private readonly _onMessage = (content: unknown): void => {
    if (!isMessage(content)) {
      return;
    }
    if (content.kind === 'answer') {
      settle(this._questions, content.id, content.answer ?? errorAnswer(''));
    } else if (content.kind === 'edited') {
      settle(this._edits, content.id, content.error ?? '');
    } else if (content.kind === 'changed') {
      this._readers.notify();
    }
  };

  private readonly _onEnd = (): void => {
    this._hasEnded = true;
    for (const id of [...this._questions.keys()]) {
      settle(this._questions, id, errorAnswer(this._words.ended));
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
  const question = id === undefined ? undefined : waiting.get(id);
  if (id !== undefined && question !== undefined) {
    waiting.delete(id);
    question.resolve(value);
  }
}

function errorAnswer(error: string): ViewAnswer {
  return { unchanged: false, milliseconds: 0, error };
}
