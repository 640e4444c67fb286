/** A prompt that reached no kernel is given back to the composer. */
import { describe, expect, it, vi } from 'vitest';
import { nullTranslator } from '@jupyterlab/translation';
import { NO_ANSWER, type ILink } from '../../../src/kernel/kernelLink';
import { PendingSwitches } from '../../../src/panel/actions/pendingSwitches';
import { promptActions } from '../../../src/panel/actions/promptActions';

it('does not take a prompt for sent where there is no kernel', async () => {
  const target = { link: null, session: undefined, report: vi.fn() };
  const prompts = promptActions(
    target,
    new PendingSwitches(),
    nullTranslator.load('palimpsest'),
    vi.fn()
  );

  await expect(prompts.send('hello', {})).rejects.toThrow(NO_ANSWER);
});

describe('the changed prompt of a turn', () => {
  /** Prompts in a session; `errors` says which commands fail, and why. */
  function kernel(errors: Partial<Record<string, string>> = {}) {
    const sent: unknown[] = [];
    const target = {
      session: 'ses_1',
      report: vi.fn(),
      link: {
        catchUp: vi.fn(),
        store: {
          getSnapshot: () => ({ current: target.session, sessions: new Map() })
        },
        outcome: (type: string, fields: Record<string, unknown>) => {
          sent.push([type, fields.target ?? fields.text, fields.overwrite]);
          return Promise.resolve({ error: errors[type] });
        }
      } as unknown as ILink
    };
    const fail = vi.fn();
    const prompts = promptActions(
      target,
      new PendingSwitches(),
      nullTranslator.load('palimpsest'),
      fail
    );
    return { target, sent, fail, prompts };
  }
  const TURN = { turn: 'msg_1', overwrite: ['a.txt'] };

  it('is sent once the turn is reverted, with the files that were ticked', async () => {
    const { prompts, sent } = kernel();

    await expect(prompts.replace(TURN, 'better', {})).resolves.toBeNull();

    expect(sent).toEqual([
      ['revert', 'msg_1', ['a.txt']],
      ['prompt', 'better', undefined]
    ]);
  });

  it('is not sent where the turn cannot be reverted', async () => {
    const { prompts, sent, fail } = kernel({ revert: 'The turn runs.' });

    await expect(prompts.replace(TURN, 'better', {})).rejects.toThrow(
      'The turn runs.'
    );

    expect(sent.map(value => (value as string[])[0])).toEqual(['revert']);
    expect(fail).toHaveBeenCalledWith('The turn runs.');
  });

  it('is not sent to a session that was chosen meanwhile', async () => {
    const { prompts, sent, target } = kernel();

    const over = prompts.replace(TURN, 'better', {});
    target.session = 'ses_2';

    await expect(over).rejects.toThrow('Another session');
    expect(sent).toHaveLength(1);
  });

  it('is given back where it is refused after the revert', async () => {
    const { prompts } = kernel({ prompt: 'No such agent.' });

    await expect(prompts.replace(TURN, 'better', {})).rejects.toThrow(
      'No such agent.'
    );
  });
});
