/** The display lines of messages. */
import { describe, expect, it } from 'vitest';
import type { Part, RetryPart } from '../../../src/protocol/generated';
import { messageLines } from '../../../src/state/lines/lines';
import { assistant, ran, step, text, thought, user } from '../../builders';

const kinds = (messages: Parameters<typeof messageLines>[0]) =>
  messageLines(messages).map(line => line.kind);

describe('lines', () => {
  it('tell what was thought, said and done, in order', () => {
    const message = assistant([
      thought('hm'),
      text('Let me look.'),
      ran('python', { code: '1' }, '1'),
      step()
    ]);

    expect(kinds([message])).toEqual(['reasoning', 'text', 'tool', 'step']);
  });

  it('leave out the words of the engine, and empty ones', () => {
    const messages = [
      user([text('be brief', { synthetic: true })]),
      assistant([text('  '), text('note', { synthetic: true }), text('Done.')])
    ];

    expect(kinds(messages)).toEqual(['text']);
  });

  it('show a sentence for a person, and not as words of the answer', () => {
    const told = text('The hook careful failed.', {
      synthetic: true,
      ignored: true,
      metadata: { notice: 'hook' }
    });

    expect(kinds([assistant([told, text('Done.')])])).toEqual([
      'notice',
      'text'
    ]);
    expect(kinds([user([]), assistant([told], { summary: true })])).toContain(
      'notice'
    );
  });

  it('show the words of the user that joined while the turn ran', () => {
    expect(kinds([user([text('and plot it')])])).toEqual(['prompt']);
  });

  it('go on counting the steps where the segment before ended', () => {
    const found = messageLines([assistant([step()]), assistant([step()])], 3);

    expect(found.map(line => 'number' in line && line.number)).toEqual([3, 4]);
  });

  it('put the summary under the sign of its compaction', () => {
    const marker = {
      ...text(''),
      type: 'compaction' as const,
      auto: true,
      overflow: false,
      goes_on: false
    };
    const messages = [
      user([marker]),
      assistant([text('We plotted it.')], { summary: true })
    ];

    expect(messageLines(messages)).toMatchObject([
      { kind: 'compaction', summary: 'We plotted it.' }
    ]);
  });

  it.each([
    ['running', { time: { created: 0 } }],
    ['done', { time: { created: 0, completed: 1 } }],
    [
      'failed',
      {
        time: { created: 0, completed: 1 },
        error: { type: 'unknown' as const, message: 'x', explained: false }
      }
    ]
  ])('say how a compaction stands: %s', (state, more) => {
    const summary = assistant([text('We plotted it.')], {
      summary: true,
      ...more
    });

    expect(messageLines([summary])[0]).toMatchObject({
      kind: 'compaction',
      state
    });
  });

  it('show the draft of a summary only while there is nothing newer', () => {
    const draft = {
      ...text('Of the first part.'),
      ignored: true,
      metadata: { draft: 'req_1' }
    };
    const shown = (...parts: Part[]) =>
      messageLines([assistant(parts, { summary: true })]);

    expect(shown(draft)).toMatchObject([{ summary: 'Of the first part.' }]);
    expect(shown(draft, text('Of all.'))).toMatchObject([
      { summary: 'Of all.' }
    ]);
  });

  it('say that another model had to write a summary', () => {
    const notice: RetryPart = {
      ...text(''),
      type: 'retry',
      attempt: 1,
      error: { type: 'api', message: 'No key.', retryable: false },
      time: { start: 0, end: 0 }
    };
    const message = assistant([notice, text('Of all.')], { summary: true });

    expect(kinds([message])).toEqual(['compaction', 'retry']);
  });

  it('tell an error once that several attempts failed with', () => {
    const error = { type: 'api' as const, message: 'Busy.', retryable: true };
    const retry = (attempt: number): RetryPart => ({
      id: `r${attempt}`,
      session_id: 's',
      message_id: 'm',
      type: 'retry',
      attempt,
      error,
      time: { start: 0, end: 9 }
    });
    const failed = (...parts: RetryPart[]) => assistant(parts, { error });

    expect(messageLines([failed(retry(1), retry(2)), failed()])).toMatchObject([
      { kind: 'error', attemptCount: 4 }
    ]);
    const other = { ...error, message: 'No credit.' };
    expect(
      messageLines([failed(retry(1)), assistant([], { error: other })])
    ).toMatchObject([
      { kind: 'error', attemptCount: 2 },
      { kind: 'error', attemptCount: 1, error: other }
    ]);
  });

  it('tell each time that a person stopped the answer', () => {
    const error = { type: 'aborted' as const, message: 'Stopped.' };
    const stopped = () => assistant([], { error });

    expect(messageLines([stopped(), stopped()])).toHaveLength(2);
  });

  it('end with the error of their message', () => {
    const error = { type: 'unknown' as const, message: 'No.' };
    const message = assistant([text('Half of')], { error });

    expect(kinds([message])).toEqual(['text', 'error']);
  });

  it('pass over a part type that a newer kernel wrote', () => {
    const message = assistant([text('Hello.')]);
    const newer = { ...text(''), type: 'hologram' } as never;

    expect(kinds([{ ...message, parts: [newer, ...message.parts] }])).toEqual([
      'text'
    ]);
  });

  it('put attempts that failed one after the other on one line', () => {
    const retry = (attempt: number): RetryPart => ({
      ...text(''),
      type: 'retry',
      attempt,
      error: { type: 'api', message: 'Busy.', retryable: true },
      time: { start: 0, end: 1 }
    });
    const [first, second, third] = [retry(1), retry(2), retry(3)];
    const found = messageLines([
      assistant([first, second, text('Then.'), third])
    ]);

    expect(found).toMatchObject([
      { kind: 'retry', key: first.id, part: second, run: { failedCount: 2 } },
      { kind: 'text' },
      { kind: 'retry', key: third.id, part: third, run: { failedCount: 1 } }
    ]);
  });
});
