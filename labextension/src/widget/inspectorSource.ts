/**
 * Asks an inspector's questions over a widget's comm.
 *
 * A comm is handled in a thread of its own if the kernel has subshells; otherwise the kernel answers when its
 * cell is done, and until then the inspector says that it waits.
 */
import type { ViewAnswer, ViewQuery } from '../protocol/generated';
import { newId } from '../protocol/ids';
import { isObject } from '../protocol/jsonValues';
import type {
  ComparedSide,
  EditAction,
  IInspectorSource,
  INoteWords
} from '../state/inspector/source';
import { followComm, type IAnyWidgetModel } from './anywidgetModel';
import { ReaderSet } from '../state/store/readerSet';

/** After so long without an answer the kernel is said to be busy. */
const BUSY_MS = 1_500;

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
  private readonly _leaveComm: () => void;
  private _hasEnded = false;

  constructor(
    private readonly _model: IAnyWidgetModel,
    private readonly _words: ISourceWords,
    isOwn: boolean,
    /** Of two sessions, the one that is asked about; the second is only read. */
    private readonly _side: ComparedSide = 'first'
  ) {
    if (_side === 'first') {
      this.note = words => this._sendQuestion({ kind: 'note', words });
    }
    if (isOwn) {
      this.edit = (action, part) =>
        this._send(
          this._edits,
          { kind: 'edit', action, part },
          this._words.ended
        );
    }
    this._leaveComm = followComm(_model, this._onMessage, this._onEnd);
  }

  get waitSentence(): string | undefined {
    const oldest = Math.min(
      ...[...this._questions.values()].map(({ since }) => since)
    );
    return Date.now() - oldest > BUSY_MS ? this._words.waits : undefined;
  }

  readonly ask = (query: ViewQuery): Promise<ViewAnswer> =>
    this._sendQuestion({
      kind: 'ask',
      query,
      ...(this._side === 'first' ? {} : { side: this._side })
    });

  readonly subscribe = this._readers.subscribe;

  dispose(): void {
    this._leaveComm();
    this._onEnd();
  }

  private _sendQuestion(content: object): Promise<ViewAnswer> {
    const otherwise = errorAnswer(this._words.ended);
    return this._send(this._questions, content, otherwise);
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
    const { kind, id = '', answer, error = '' } = content;
    if (kind === 'answer') {
      settle(this._questions, id, answer ?? errorAnswer(''));
    } else if (kind === 'edited') {
      settle(this._edits, id, error);
    } else if (kind === 'changed') {
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
  return isObject(content) && 'kind' in content;
}

function settle<T>(
  waiting: Map<string, IOpenQuestion<T>>,
  id: string,
  value: T
): void {
  waiting.get(id)?.resolve(value);
  waiting.delete(id);
}

function errorAnswer(error: string): ViewAnswer {
  return { unchanged: false, milliseconds: 0, error };
}
