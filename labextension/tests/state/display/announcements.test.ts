/** Announcements for screen readers: whole sentences, each once. */
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/protocol/generated';
import {
  newAnnouncements,
  type IAnnounced
} from '../../../src/state/display/announcements';
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

const heardNothing = (): IAnnounced =>
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
      busy: true
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
});
