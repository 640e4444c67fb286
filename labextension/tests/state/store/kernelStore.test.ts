/** The store of a kernel: applied notices, and requests for missing records. */
import { describe, expect, it, vi } from 'vitest';
import type {
  Notice,
  SessionStateNotice,
  RecordsNotice,
  SessionHead
} from '../../../src/protocol/generated';
import { KernelStore } from '../../../src/state/store/kernelStore';
import { assistant, messagesOf, text, sessionHead } from '../../builders';

const HEAD: SessionHead = sessionHead({
  title: 'Penguins',
  seq: 3,
  status: { type: 'busy' }
});
const PART = text('It ');

function picture(more: Partial<SessionStateNotice> = {}): SessionStateNotice {
  return {
    kind: 'session-state',
    session: 'ses_1',
    resync: 'again',
    seq: 3,
    head: HEAD,
    messages: [
      { ...assistant([PART]), info: { ...assistant([]).info, id: 'msg_1' } }
    ],
    todos: [],
    inbox: [],
    replies: {},
    decisions: [],
    last: true,
    ...more
  };
}

function delta(seq: number, words: string): Notice {
  return {
    v: 1,
    seq,
    ts: seq,
    type: 'message.part.delta',
    message_id: 'msg_1',
    part_id: PART.id,
    field: 'text',
    delta: words
  };
}

function records(
  told: Notice[],
  more: Partial<RecordsNotice> = {}
): RecordsNotice {
  return {
    kind: 'records',
    session: 'ses_1',
    records: told as unknown as RecordsNotice['records'],
    last: false,
    ...more
  };
}

function store() {
  const askAgain = vi.fn<(id: string, after: number | null) => void>();
  const frames: (() => void)[] = [];
  const made = new KernelStore(askAgain, run => frames.push(run));
  const said = () => {
    const session = made.getSnapshot().sessions.get('ses_1');
    return session === undefined
      ? ''
      : messagesOf(session.transcript)
          .flatMap(({ parts }) => parts)
          .map(part => (part.type === 'text' ? part.text : ''))
          .join('');
  };
  return { askAgain, frames, said, store: made };
}

/** Returns a store that knows the session's state. */
function known() {
  const value = store();
  value.store.updateHead(HEAD, true);
  value.store.receive(picture());
  value.store.flush();
  value.askAgain.mockClear();
  return value;
}

describe('the store of a kernel', () => {
  it('asks for the picture of a session that it hears of', () => {
    const { askAgain, said, store: made } = store();
    made.updateHead(HEAD, true);
    expect(askAgain).toHaveBeenCalledExactlyOnceWith('ses_1', null);

    made.receive(picture());
    made.flush();
    expect(said()).toBe('It ');
    expect(made.getSnapshot().current).toBe('ses_1');
  });

  it('keeps what comes before the picture, and applies what the picture lacks', () => {
    const { askAgain, said, store: made } = store();
    made.receive(records([delta(3, 'is '), delta(4, 'a '), delta(5, 'bird.')]));
    made.flush();
    expect(askAgain).toHaveBeenCalledExactlyOnceWith('ses_1', null);

    made.receive(picture());
    made.flush();
    expect(said()).toBe('It a bird.');
  });

  it('drops what it knows', () => {
    const { askAgain, said, store: made } = known();
    made.receive(records([delta(4, 'is.')]));
    made.receive(records([delta(3, 'no'), delta(4, 'no')]));
    made.flush();

    expect(said()).toBe('It is.');
    expect(askAgain).not.toHaveBeenCalled();
  });

  it('asks for what is missing, once, and goes on from there', () => {
    const { askAgain, said, store: made } = known();
    made.receive(records([delta(6, 'penguin')]));
    made.receive(records([delta(7, '.')]));
    made.flush();
    expect(askAgain).toHaveBeenCalledExactlyOnceWith('ses_1', 3);
    expect(said()).toBe('It ');

    made.receive(
      records([delta(4, 'is '), delta(5, 'a '), delta(6, 'penguin')], {
        resync: 'again',
        last: true
      })
    );
    made.flush();
    expect(said()).toBe('It is a penguin.');
  });

  it('puts a picture together from its pieces', () => {
    const { said, store: made } = store();
    made.updateHead(HEAD, true);
    made.receive(picture({ last: false }));
    made.flush();
    expect(said()).toBe('');
    const second = assistant([text('is')], { id: 'msg_2' });
    made.receive(picture({ messages: [second] }));
    made.flush();
    expect(said()).toBe('It is');
  });

  it('tells its readers once a frame, and only of changes', () => {
    const { frames, store: made } = known();
    const changed = vi.fn();
    made.subscribe(changed);
    made.receive(records([delta(4, 'is ')]));
    made.receive(records([delta(5, 'one.')]));
    expect(frames).toHaveLength(2);
    expect(changed).not.toHaveBeenCalled();
    frames[1]?.();
    expect(changed).toHaveBeenCalledOnce();

    made.receive(records([delta(5, 'one.')]));
    made.flush();
    expect(changed).toHaveBeenCalledOnce();
  });

  it('learns from a head that it missed the end', () => {
    const { askAgain, store: made } = known();
    made.updateHead({ ...HEAD, seq: 9 }, true);

    expect(askAgain).toHaveBeenCalledExactlyOnceWith('ses_1', 3);
  });

  it('asks again when nothing came of it', () => {
    const { askAgain, store: made } = known();
    made.updateHead({ ...HEAD, seq: 9 }, true);
    made.updateHead({ ...HEAD, seq: 9 }, true);
    expect(askAgain).toHaveBeenCalledOnce();
    made.updateHead({ ...HEAD, seq: 9 }, true);
    expect(askAgain).toHaveBeenCalledTimes(2);
  });

  it('reads a session anew that a new kernel has begun anew', () => {
    const { askAgain, store: made } = known();
    made.updateHead({ ...HEAD, seq: 1 }, true, true);

    expect(askAgain).toHaveBeenCalledExactlyOnceWith('ses_1', null);
  });

  it('keeps the words of a kernel that is gone, and nothing of it runs', () => {
    const { said, store: made } = known();
    made.reset();

    const session = made.getSnapshot().sessions.get('ses_1');
    expect(session?.transcript.status).toEqual({ type: 'idle' });
    expect(said()).toBe('It ');
  });

  it('keeps what a newer head says of step mode when an older one arrives later', () => {
    const { store: made } = known();
    const stepping = () =>
      made.getSnapshot().sessions.get('ses_1')?.transcript.stepping;
    const on = { ...HEAD, stepping: true, order: 5 };
    const off = { ...HEAD, stepping: false, order: 6 };
    made.updateHead(on, true);
    expect(stepping()).toBe(true);

    made.updateHead(off, true);
    made.updateHead({ ...on, session: 'ses_2' }, true);
    made.updateHead(on, true);
    made.updateHead({ ...on, seq: 9 }, true);
    expect(stepping()).toBe(false);
    expect(made.getSnapshot().current).toBe('ses_1');

    made.receive(picture({ seq: 9, head: { ...on, seq: 9 } }));
    made.flush();
    expect(stepping()).toBe(false);
  });

  it('takes the heads of a new kernel, and of one that does not number them', () => {
    const { store: made } = known();
    const stepping = () =>
      made.getSnapshot().sessions.get('ses_1')?.transcript.stepping;
    made.updateHead({ ...HEAD, stepping: true, order: 9 }, true);
    made.reset();
    made.updateHead({ ...HEAD, order: 2 }, true, true);
    expect(stepping()).toBe(false);

    const former: Partial<SessionHead> = { ...HEAD, stepping: true };
    delete former.order;
    made.updateHead(former as SessionHead, true);
    expect(stepping()).toBe(true);
  });
});
