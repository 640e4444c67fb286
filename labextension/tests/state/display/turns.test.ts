/** Turns of a transcript, and the status of a session. */
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/protocol/generated';
import {
  windowUsage,
  isBusy,
  unattachedAsks
} from '../../../src/state/session/status';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../../../src/state/store/transcript';
import { turnsOf } from '../../../src/state/display/turns';
import * as build from '../../builders';

function transcript(...said: Message[]): ITranscript {
  return {
    ...EMPTY_TRANSCRIPT,
    entries: said.map(message => ({ id: message.info.id, message }))
  };
}

describe('turns', () => {
  it('begin with the words of a person', () => {
    const found = turnsOf(
      transcript(
        build.user([build.text('How many?')]),
        build.assistant([build.text('Three.')]),
        build.user([build.text('And now?')]),
        build.assistant([build.text('Four.')])
      )
    );

    expect(found.map(({ prompt }) => prompt)).toEqual([
      'How many?',
      'And now?'
    ]);
    expect(found.map(({ messages }) => messages.length)).toEqual([1, 1]);
  });

  it('do not begin with what the engine wrote', () => {
    const engine = build.user([build.text('Go on.', { synthetic: true })]);
    const found = turnsOf(
      transcript(
        build.user([build.text('How many?')]),
        build.assistant([]),
        engine,
        build.assistant([])
      )
    );

    expect(found).toHaveLength(1);
    expect(found[0]?.messages).toHaveLength(3);
  });

  it('are the same objects as before where nothing changed', () => {
    const first = transcript(
      build.user([build.text('One')]),
      build.assistant([]),
      build.user([build.text('Two')])
    );
    const before = turnsOf(first);
    const { entries } = transcript(build.assistant([build.text('Yes.')]));
    const after = turnsOf(
      { ...first, entries: [...first.entries, ...entries] },
      before
    );

    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
  });

  it('keep what was said before any prompt', () => {
    const [only] = turnsOf(transcript(build.assistant([build.text('Hello.')])));

    expect(only?.prompt).toBeNull();
    expect(only?.messages).toHaveLength(1);
  });
});

describe('a session', () => {
  it('is as full as its newest step says', () => {
    const stands = transcript(
      build.assistant([
        build.step({ context_tokens: 10, window: 100 }),
        build.step({ context_tokens: 20, window: 100 }),
        build.text('So.')
      ])
    );

    expect(windowUsage(stands)).toEqual({
      used: 20,
      window: 100,
      kinds: {},
      reserve: 0
    });
    expect(windowUsage(EMPTY_TRANSCRIPT)).toBeNull();
  });

  it('is not as full as the request that wrote its summary', () => {
    const stands = transcript(
      build.assistant([build.step({ context_tokens: 20, window: 100 })]),
      build.assistant([build.step({ context_tokens: 5, window: 100 })], {
        summary: true
      })
    );

    expect(windowUsage(stands)?.used).toBe(20);
  });

  it('is as full as its summary leaves it, told live or after a reload', () => {
    const asked = build.assistant([
      build.step({ context_tokens: 33_500, window: 40_000 })
    ]);
    const summary = build.assistant([], { summary: true });
    const decision = {
      id: 'dec_1',
      action: 'summarise' as const,
      rule: 'compact',
      message_id: summary.info.id,
      numbers: {},
      tokens_before: 33_029,
      tokens_after: 6_322
    };
    const contextFill = {
      tokens: 33_400,
      kinds: {},
      window: 40_000,
      reserve: 2_000,
      message_id: asked.info.id
    };
    const reloaded = { ...transcript(asked, summary), decisions: [decision] };
    const undone = { ...decision, id: 'dec_2', rule: 'user/undo-compaction' };

    expect(windowUsage({ ...reloaded, contextFill })?.used).toBe(6_793);
    expect(windowUsage(reloaded)?.used).toBe(6_793);
    expect(
      windowUsage({ ...reloaded, decisions: [decision, undone] })?.used
    ).toBe(33_500);
  });

  it('names questions whose call is not in it', () => {
    const call = build.ran('write', {}, '');
    const ask = (id: string, call_id: string) => ({
      id,
      call_id,
      permission: 'write',
      patterns: [],
      always: [],
      title: '',
      input: {}
    });
    const stands = {
      ...transcript(build.assistant([call])),
      asks: [ask('per_1', call.call_id), ask('per_2', 'elsewhere')]
    };

    expect(unattachedAsks(stands).map(({ id }) => id)).toEqual(['per_2']);
  });

  it('is busy while it waits to try again', () => {
    const status = { type: 'retry', attempt: 1, message: '', next: 0 } as const;

    expect(isBusy({ ...EMPTY_TRANSCRIPT, status })).toBe(true);
    expect(isBusy(EMPTY_TRANSCRIPT)).toBe(false);
  });
});
