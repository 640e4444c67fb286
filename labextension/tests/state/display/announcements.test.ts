/** Announcements for screen readers: whole sentences, each once. */
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/protocol/generated';
import {
  newAnnouncements,
  type IAnnouncementState
} from '../../../src/state/display/announcements';
import { sentenceEnd } from '../../../src/state/text/spokenText';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../../../src/state/store/transcript';
import * as build from '../../builders';

const BUSY = { type: 'busy' } as const;

function busy(...said: Message[]): ITranscript {
  const entries = said.map(message => ({ id: message.info.id, message }));
  return { ...EMPTY_TRANSCRIPT, status: BUSY, entries };
}

const heardNothing = (): IAnnouncementState =>
  newAnnouncements(EMPTY_TRANSCRIPT, null)[1];

const DONE = { status: 'completed', reason: '' };

describe('what is announced', () => {
  it('says nothing of what was there before', () => {
    const [said] = newAnnouncements(
      busy(build.assistant([build.text('Old.')])),
      null
    );

    expect(said).toEqual([]);
  });

  it('says whole sentences, each once', () => {
    const part = build.text('It is **three**. But');
    const message = build.assistant([part]);
    const [first, then] = newAnnouncements(busy(message), heardNothing());
    const grown = { ...message, parts: [{ ...part, text: `${part.text} no` }] };
    const [second] = newAnnouncements(busy(grown), then);

    expect(first).toEqual([
      { kind: 'begun' },
      { kind: 'words', text: 'It is three.' }
    ]);
    expect(second).toEqual([]);
  });

  it('says the rest when the turn is over', () => {
    const message = build.assistant([build.text('First. And last')]);
    const [, then] = newAnnouncements(busy(message), heardNothing());
    const [said] = newAnnouncements(
      { ...busy(message), status: { type: 'idle' } },
      then
    );

    expect(said).toEqual([
      { kind: 'words', text: 'And last' },
      { kind: 'over' }
    ]);
  });

  it('says calls and questions, each once', () => {
    const call = build.ran('python', { code: 'x' }, '1');
    const ask = {
      id: 'per_1',
      permission: 'write',
      patterns: [],
      always: [],
      title: 'Write a.csv?',
      input: {}
    };
    const stands = { ...busy(build.assistant([call])), asks: [ask] };
    const [said, then] = newAnnouncements(stands, {
      ...heardNothing(),
      isBusy: true,
      isTurnAnnounced: true
    });

    expect(said).toEqual([
      { kind: 'call', tool: 'python', subject: 'x', outcome: DONE },
      { kind: 'asks', title: 'Write a.csv?' }
    ]);
    expect(newAnnouncements(stands, then)[0]).toEqual([]);
  });

  it('says a question that waits when the panel is opened', () => {
    const ask = {
      id: 'per_1',
      permission: 'write',
      patterns: [],
      always: [],
      title: 'Write a.csv?',
      input: {}
    };
    const [said] = newAnnouncements({ ...busy(), asks: [ask] }, null);

    expect(said).toEqual([{ kind: 'asks', title: 'Write a.csv?' }]);
  });

  it('says prose, not Markdown', () => {
    const words = [
      '## What *is* there',
      '',
      '- [x] **three** [species](https://a.org/b_c), in `df.species`',
      '',
      '| island | rows |',
      '|:--|--:|',
      '| Biscoe | 168 |',
      '',
      '```python',
      'df["a"] * 2  # not read.',
      '```',
      '---',
      'See ![the plot](x.png) and <b>that</b>. snake_case stays'
    ].join('\n');
    const message = build.assistant([build.text(words)]);
    const [, then] = newAnnouncements(busy(), heardNothing());
    const [said] = newAnnouncements(
      { ...busy(message), status: { type: 'idle' } },
      then
    );

    expect(said[0]).toEqual({
      kind: 'words',
      text: 'What is there. three species, in df.species. island, rows. Biscoe, 168. See the plot and that. snake_case stays'
    });
  });

  it('reads no code that came in several pieces, and cuts no link', () => {
    const part = build.text('Look:\n```\nx = 1.\n');
    const message = build.assistant([part]);
    const [first, then] = newAnnouncements(busy(message), heardNothing());
    const more = `${part.text}y = 2.\n\`\`\`\nAs [e.g. here`;
    const grown = { ...message, parts: [{ ...part, text: more }] };
    const [second, after] = newAnnouncements(busy(grown), then);
    const whole = `${more}](https://a.org). Done`;
    const last = { ...message, parts: [{ ...part, text: whole }] };
    const [third] = newAnnouncements(busy(last), after);

    expect(first.at(-1)).toEqual({ kind: 'words', text: 'Look:' });
    expect(second).toEqual([]);
    expect(third).toEqual([{ kind: 'words', text: 'As e.g. here.' }]);
  });

  it('says the tail of an answer, and that it is over, before the queued turn', () => {
    const first = build.assistant([build.text('One. And the tail')]);
    const [, then] = newAnnouncements(busy(first), heardNothing());
    const over = {
      ...first,
      info: {
        ...first.info,
        time: { created: 0, completed: 1 },
        stopped_by: 'finished'
      }
    } as Message;
    // The session is busy all the time, and both arrive in one look.
    const [said, after] = newAnnouncements(
      busy(
        over,
        build.user([build.text('And then?')]),
        build.assistant([build.text('Two. Not')])
      ),
      then
    );

    expect(said).toEqual([
      { kind: 'words', text: 'And the tail' },
      { kind: 'over' },
      { kind: 'begun' },
      { kind: 'words', text: 'Two.' }
    ]);
    expect(after.isTurnAnnounced).toBe(true);
  });

  it('says a text to its end once a call follows it', () => {
    const [said] = newAnnouncements(
      busy(
        build.assistant([
          build.text('I look'),
          build.ran('read', { path: 'a.txt' }, '1'),
          build.ran('read', { path: 'b.txt' }, '1')
        ])
      ),
      heardNothing()
    );

    expect(said.slice(0, 2)).toEqual([
      { kind: 'begun' },
      { kind: 'words', text: 'I look' }
    ]);
    expect(said[2]?.kind === 'looks' && said[2].calls.length).toBe(2);
    expect(said).toHaveLength(3);
  });

  it('says why a turn failed before that it has stopped', () => {
    const error = { type: 'unknown', message: 'The model is gone.' } as const;
    const [said] = newAnnouncements(
      { ...busy(build.assistant([], { error })), status: { type: 'idle' } },
      newAnnouncements(busy(), heardNothing())[1]
    );

    expect(said).toEqual([
      { kind: 'words', text: 'The model is gone.' },
      { kind: 'stopped' }
    ]);
  });

  it('says how many prompts wait, and that a stop gave them back', () => {
    const inbox = ['First.', 'Second.'].map((text, index) => ({
      type: 'prompt.admitted' as const,
      prompt_id: `p${index}`,
      text,
      delivery: 'queue' as const,
      origin: { kind: 'panel' as const },
      options: {}
    }));
    const [, works] = newAnnouncements(busy(), heardNothing());
    const [said, then] = newAnnouncements({ ...busy(), inbox }, works);
    const [again, later] = newAnnouncements({ ...busy(), inbox }, then);
    const [over] = newAnnouncements(
      { ...EMPTY_TRANSCRIPT, stopped: inbox },
      later
    );

    expect(said).toEqual([{ kind: 'queued', queuedCount: 2 }]);
    expect(again).toEqual([]);
    expect(over).toEqual([{ kind: 'back', promptCount: 2 }, { kind: 'over' }]);
  });
});

describe('the end of a sentence', () => {
  it.each([
    ['It is a long line\nthat goes on', ''],
    ['# Found\nIt goes', '# Found\n'],
    ['It is three\n\nBut', 'It is three\n\n'],
    ['It is so\n- one', 'It is so\n'],
    ['1. Look, e.g. at', ''],
    ['- one\n- two', '- one\n'],
    ['- one that\n  goes on', ''],
    ['It is 3.14 of', ''],
    ['Look at Fig. 3 first. Then', 'Look at Fig. 3 first.']
  ])('of %j is after %j', (text, whole) => {
    expect(text.slice(0, sentenceEnd(text))).toBe(whole);
  });
});
