// @vitest-environment jsdom
/** What a prompt names: the list that an at sign opens, and the chips of what goes along. */
import { act, fireEvent, render, screen } from '@testing-library/react';
import { readFileSync } from 'node:fs';
import axe from 'axe-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type {
  MentionPreview,
  MentionRow
} from '../../../src/protocol/generated';
import { wordAt, withCompletion } from '../../../src/views/composer/completion';
import {
  BUSY_RETRY_MS,
  mentionGroups,
  TYPING_PAUSE_MS,
  rankedMatches
} from '../../../src/views/composer/mentions';
import {
  activeOption,
  field,
  optionNames,
  panelPage,
  press
} from '../../drawnPanel';
import { panelActions } from '../../panelActions';
import { HOST } from '../../plainHost';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const row = (
  kind: MentionRow['kind'],
  text: string,
  about = '',
  failed?: boolean
): MentionRow => ({ kind, text, about, failed });

const ROWS: MentionRow[] = [
  row('variable', 'df', 'DataFrame 344×7'),
  row('variable', 'old_frame', 'list, 3 items'),
  row('error', 'error', "KeyError: 'colour'", true),
  row('cell', 'cell 12', "df['colour']", true),
  row('cell', 'cell 1', 'import pandas as pd'),
  row('out', 'out 1', '42'),
  row('file', 'data/birds.csv')
];

const preview = (
  text: string,
  fields: Partial<MentionPreview>
): MentionPreview => ({
  text,
  kind: 'variable',
  name: text.slice(1),
  state: 'sent',
  about: '',
  ...fields
});

async function draw(rows: MentionRow[] = ROWS, more?: boolean) {
  const actions = panelActions();
  actions.prompts.mentions.mockResolvedValue({ rows, more });
  await act(async () => {
    render(panelPage({}, actions));
    await Promise.resolve();
  });
  return actions;
}

/** Types, and lets as much time pass. */
async function type(value: string, milliseconds = 0) {
  await act(async () => {
    fireEvent.change(field(), { target: { value } });
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
}

const kinds = () =>
  screen.queryAllByRole('group').flatMap(group => {
    const name = group.getAttribute('aria-label');
    return group.closest('.plm-Completions') ? [name] : [];
  });
const chips = () =>
  Array.from(document.querySelectorAll('.plm-MentionChip')).map(
    chip => chip.textContent
  );

describe('the ranking', () => {
  const cases = JSON.parse(
    readFileSync('../tests/mention_matches.json', 'utf-8')
  ) as { words: string[]; typed: string; ranked: string[] }[];

  it.each(cases)('is the kernel’s for “$typed”', ({ words, typed, ranked }) => {
    expect(rankedMatches(words, typed).map(place => words[place])).toEqual(
      ranked
    );
  });

  it('is quick with five hundred variables and two hundred cells', () => {
    const many = [
      ...Array.from({ length: 500 }, (_, n) => row('variable', `many_${n}`)),
      ...Array.from({ length: 200 }, (_, n) => row('cell', `cell ${n}`))
    ];
    const groups = mentionGroups('', many, null, HOST.words);

    expect(groups.map(({ name, count }) => [name, count])).toEqual([
      ['Variables', 500],
      ['Cells', 200]
    ]);
    expect(groups.flatMap(({ options }) => options)).toHaveLength(16);
    expect(
      mentionGroups('many_4', many, null, HOST.words)[0]?.options
    ).toHaveLength(60);
  });
});

describe('the word of a mention', () => {
  it('has a space in it for a cell and an output only', () => {
    expect(wordAt('see @cell 1', 11)?.typedText).toBe('cell 1');
    expect(wordAt('see (@out ', 10)?.typedText).toBe('out ');
    expect(wordAt('see @cell 1 ', 12)).toBeNull();
    expect(wordAt('see @df 1', 9)).toBeNull();
  });

  it('is replaced with its number', () => {
    const word = wordAt('see @cell 12 now', 8);

    expect(word && withCompletion('see @cell 12 now', word, 'cell 3')).toEqual({
      text: 'see @cell 3 now',
      caret: 12
    });
  });
});

describe('the list', () => {
  it('shows what the kernel lists, by kind', async () => {
    const actions = await draw();
    await type('mend @');

    expect(actions.prompts.mentions).toHaveBeenCalledWith('', undefined);
    expect(kinds()).toEqual([
      'Newest error',
      'Variables',
      'Cells',
      'Outputs',
      'Files'
    ]);
    expect(activeOption()).toBe('@error');
    expect(screen.getByRole('option', { name: '@df' }).textContent).toContain(
      'DataFrame 344×7'
    );
    expect(
      screen.getByRole('option', { name: '@cell 12' }).textContent
    ).toContain('failed');
    expect(screen.getByText('7 suggestions')).not.toBeNull();
  });

  it('puts the kind first that begins with what was typed', async () => {
    await draw();
    await type('see @ce');
    expect(optionNames()).toEqual(['@cell 12', '@cell 1']);
    await type('see @cell 1');
    expect(optionNames()).toEqual(['@cell 1', '@cell 12']);
    await type('see @da');
    expect(kinds()).toEqual(['Files', 'Variables']);
    await type('see @r');
    expect(kinds()).toEqual(['Newest error', 'Variables', 'Files']);
    await type('see @o');
    expect(kinds().slice(0, 2)).toEqual(['Variables', 'Outputs']);
  });

  it('moves over all kinds by arrows, and takes by Enter and Tab', async () => {
    const actions = await draw();
    await type('mend @');
    press('ArrowDown');
    press('ArrowDown');
    press('ArrowDown');
    expect(activeOption()).toBe('@cell 12');
    press('Enter');
    expect(field().value).toBe('mend @cell 12 ');
    expect(optionNames()).toEqual([]);
    await type('mend @cell 12 with @old');
    press('Tab');

    expect(field().value).toBe('mend @cell 12 with @old_frame ');
    expect(actions.prompts.send).not.toHaveBeenCalled();
  });

  it('lets Enter send a name that is written out, also before a full stop', async () => {
    const actions = await draw([row('variable', 'df'), row('variable', 'df2')]);
    await type('what is @df.');
    press('Enter');

    expect(actions.prompts.send).toHaveBeenCalledWith('what is @df.', {});
  });

  it('finds files that were not listed by their letters', async () => {
    const actions = await draw(ROWS, true);
    await type('read @');
    actions.prompts.mentions.mockResolvedValue({
      rows: [row('file', 'deep/down/robin.csv')]
    });
    await type('read @robin', TYPING_PAUSE_MS);

    expect(actions.prompts.mentions).toHaveBeenLastCalledWith(
      'robin',
      undefined
    );
    expect(optionNames()).toEqual(['@deep/down/robin.csv']);
  });

  it('stays closed where the kernel lists nothing, as an older one', async () => {
    const actions = await draw();
    actions.prompts.mentions.mockResolvedValue(null);
    await type('mend @');

    expect(optionNames()).toEqual([]);
  });

  it('has no barrier', async () => {
    await draw();
    await type('mend @');
    vi.useRealTimers();
    const { violations } = await axe.run(document.body, {
      rules: { region: { enabled: false } }
    });

    expect(violations.map(({ id }) => id)).toEqual([]);
  });
});

describe('the chips', () => {
  it('say what goes along and what stays here, also of what is typed', async () => {
    const actions = await draw();
    actions.prompts.previews.mockResolvedValue([
      preview('@cell 4', { kind: 'cell', name: '4', tokens: 320 }),
      preview('@out 4', { kind: 'out', name: '4', tokens: 20 }),
      preview('@df', { about: 'DataFrame 344×7', tokens: 150 }),
      preview('@a/b.csv', { kind: 'file', name: 'a/b.csv', tokens: 2100 }),
      preview('@error', { kind: 'error', name: '5', about: 'KeyError: 1' }),
      preview('@cell 9', { kind: 'cell', name: '9', state: 'unknown' }),
      preview('@loud', { state: 'uncounted', about: 'Loud' }),
      preview('@busy', { state: 'busy' }),
      preview('@.env', { kind: 'file', name: '.env', state: 'asks' }),
      preview('@cell 2', { kind: 'cell', name: '2', state: 'hidden' }),
      preview('@key', { state: 'denied' })
    ]);
    const text =
      '@cell 4 @out 4 @df @a/b.csv @error @cell 9 @loud @busy @.env @cell 2 @key ';
    await type(text, TYPING_PAUSE_MS);

    expect(actions.prompts.previews).toHaveBeenCalledWith(text, undefined);
    expect(chips()).toEqual([
      'cell 4 with its outputs · ~320 tokens',
      'outputs of cell 4 · ~20 tokens',
      'df DataFrame 344×7 · ~150 tokens',
      'file a/b.csv · ~2.1k tokens',
      'error of cell 5: KeyError: 1',
      'no cell 9',
      'loud Loud · counted when it is sent',
      'busy · counted when the cell has ended',
      'file .env · you are asked first',
      '@cell 2 · stays here: the cell is hidden',
      '@key · stays here: a rule denies it'
    ]);
    expect(
      document.querySelectorAll('.plm-MentionChip[data-stays]')
    ).toHaveLength(3);
  });

  it('go with the words, at once', async () => {
    const actions = await draw();
    actions.prompts.previews.mockResolvedValue([
      preview('@df', { tokens: 1 }),
      preview('@old', { tokens: 2 })
    ]);
    await type('see @df and @old ', TYPING_PAUSE_MS);
    expect(chips()).toHaveLength(2);
    await type('see @df2 and @old ');

    expect(chips()).toEqual(['old · ~2 tokens']);
    await type('see');
    expect(chips()).toEqual([]);
  });

  it('say nothing of a word that is still completed', async () => {
    const actions = await draw();
    actions.prompts.previews.mockResolvedValue([
      preview('@old_', { state: 'unknown' })
    ]);
    await type('see @old_', TYPING_PAUSE_MS);
    expect(optionNames()).toEqual(['@old_frame']);
    expect(chips()).toEqual([]);
    press('Escape');

    expect(chips()).toEqual(['no variable old_']);
  });

  it('are counted again when the cell has ended', async () => {
    const actions = await draw();
    actions.prompts.previews.mockResolvedValueOnce([
      preview('@df', { state: 'busy' })
    ]);
    actions.prompts.previews.mockResolvedValue([preview('@df', { tokens: 7 })]);
    await type('see @df ', TYPING_PAUSE_MS);
    expect(chips()).toEqual(['df · counted when the cell has ended']);
    await type('see @df ', BUSY_RETRY_MS);
    await type('see @df ', TYPING_PAUSE_MS);

    expect(chips()).toEqual(['df · ~7 tokens']);
    expect(actions.prompts.previews).toHaveBeenCalledTimes(2);
  });

  it('ask for nothing without an at sign', async () => {
    const actions = await draw();
    await type('see it', TYPING_PAUSE_MS);

    expect(actions.prompts.previews).not.toHaveBeenCalled();
    expect(actions.prompts.mentions).not.toHaveBeenCalled();
  });
});
