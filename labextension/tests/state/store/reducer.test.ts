/** The reducer, with the fixtures of the kernel's own fold. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Message, Notice } from '../../../src/protocol/generated';
import { applyNotice } from '../../../src/state/store/reducer';
import { EMPTY_TRANSCRIPT } from '../../../src/state/store/transcript';
import { messagesOf, text } from '../../builders';

interface IFixture {
  law: string;
  records: Notice[];
  messages: Message[];
}

const FOLDER = new URL('../../../../tests/fixtures/fold/', import.meta.url);
const FIXTURES = readdirSync(FOLDER)
  .filter(name => name.endsWith('.json'))
  .map(
    name => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as IFixture
  );

describe('the fold', () => {
  it.each(FIXTURES.map(entry => [entry.law, entry] as const))(
    '%s',
    (_law, fixture) => {
      const transcript = fixture.records.reduce(applyNotice, EMPTY_TRANSCRIPT);

      expect(messagesOf(transcript)).toEqual(fixture.messages);
    }
  );

  it.each(FIXTURES.map(entry => [entry.law, entry] as const))(
    'changes nothing when everything is told twice: %s',
    (_law, fixture) => {
      const once = fixture.records.reduce(applyNotice, EMPTY_TRANSCRIPT);

      expect(fixture.records.reduce(applyNotice, once)).toBe(once);
    }
  );

  it('keeps the questions that nobody answered', () => {
    const ask = {
      id: 'per_1',
      permission: 'python',
      patterns: ['*'],
      always: [],
      title: 'Run it?',
      input: {}
    };
    const asked = applyNotice(EMPTY_TRANSCRIPT, {
      ...at(1),
      type: 'permission.asked',
      ask
    });
    const answered = applyNotice(asked, {
      ...at(2),
      type: 'permission.replied',
      ask_id: 'per_1',
      reply: { answer: 'once', by: 'person' }
    });

    expect(asked.asks).toEqual([ask]);
    expect(answered.asks).toEqual([]);
  });

  it('takes the older answer away when a call of the same id asks anew', () => {
    const ask = (id: string) => ({
      id,
      permission: 'python',
      patterns: ['*'],
      always: [],
      title: 'Run it?',
      input: {},
      call_id: 'call_1'
    });
    const answered = [
      { ...at(1), type: 'permission.asked', ask: ask('per_1') } as const,
      {
        ...at(2),
        type: 'permission.replied',
        ask_id: 'per_1',
        reply: { answer: 'once', by: 'person' }
      } as const
    ].reduce<typeof EMPTY_TRANSCRIPT>(applyNotice, EMPTY_TRANSCRIPT);
    const again = applyNotice(answered, {
      ...at(3),
      type: 'permission.asked',
      ask: ask('per_2')
    });

    expect(Object.keys(answered.replies)).toEqual(['call_1']);
    expect(again.replies).toEqual({});
  });

  it('keeps the prompts that wait', () => {
    const waiting = applyNotice(EMPTY_TRANSCRIPT, {
      ...at(1),
      type: 'prompt.admitted',
      prompt_id: 'pmt_1',
      text: 'and plot it',
      delivery: 'queue',
      options: {}
    });
    const delivered = applyNotice(waiting, {
      ...at(2),
      type: 'prompt.delivered',
      prompt_id: 'pmt_1',
      message_id: 'msg_1'
    });

    expect(waiting.inbox.map(prompt => prompt.text)).toEqual(['and plot it']);
    expect(delivered.inbox).toEqual([]);
    expect(delivered.stopped).toEqual([]);
  });

  it('keeps a prompt that a stop withdrew, not one that a person took back', () => {
    const waiting = [1, 2].reduce(
      (now, number) =>
        applyNotice(now, {
          ...at(number),
          type: 'prompt.admitted',
          prompt_id: `pmt_${number}`,
          text: `prompt ${number}`,
          delivery: 'queue',
          options: {}
        }),
      EMPTY_TRANSCRIPT
    );
    const taken = applyNotice(waiting, {
      ...at(3),
      type: 'prompt.delivered',
      prompt_id: 'pmt_1'
    });
    const stopped = applyNotice(taken, {
      ...at(4),
      type: 'prompt.delivered',
      prompt_id: 'pmt_2',
      stopped: true
    });

    expect(stopped.inbox).toEqual([]);
    expect(stopped.stopped).toEqual([waiting.inbox[1]]);
  });

  it('leaves what did not change as it was, so that nothing is drawn twice', () => {
    const first = [text('a'), text('b', { message_id: 'msg_2' })].reduce(
      (now, part, index) =>
        applyNotice(now, {
          ...at(index + 1),
          type: 'message.part.updated',
          part
        }),
      EMPTY_TRANSCRIPT
    );
    const second = applyNotice(first, {
      ...at(3),
      type: 'message.part.updated',
      part: text('c', { message_id: 'msg_2' })
    });

    expect(second.entries[0]).toBe(first.entries[0]);
    expect(second.entries[1]?.message.parts[0]).toBe(
      first.entries[1]?.message.parts[0]
    );
  });
});

function at(seq: number) {
  return { v: 1, seq, ts: seq };
}
