// @vitest-environment jsdom
/** A picker's field finds options by name, description and group, names first. */
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { Picker, type IOption } from '../../../src/views/controls/picker';
import { HostProvider } from '../../../src/views/host';
import { HOST } from '../../plainHost';

const OPTIONS: IOption[] = [
  { value: 'a.one', about: 'clears old results', group: 'Agent A' },
  { value: 'a.two', about: 'writes a summary', group: 'Agent A' },
  { value: 'b.clears', about: 'keeps ten', group: 'Other B' },
  ...Array.from({ length: 8 }, (_, at) => ({
    value: `c.${at}`,
    about: 'something else',
    group: 'Third'
  }))
];

function open(onChoose = vi.fn<(value: string) => void>()) {
  render(
    <HostProvider value={HOST}>
      <Picker
        label="Policy"
        value="a.one"
        options={OPTIONS}
        nameOf={value => value}
        onChoose={onChoose}
      />
    </HostProvider>
  );
  fireEvent.click(screen.getByRole('button', { name: 'Policy: a.one' }));
  return onChoose;
}

function rows(wanted: string): string[] {
  fireEvent.change(screen.getByPlaceholderText('Find one'), {
    target: { value: wanted }
  });
  return screen.getAllByRole('listitem').map(element => element.textContent);
}

it('shows each group once, above its options', () => {
  open();

  expect(rows('a.')).toEqual([
    'Agent A',
    'a.one clears old results',
    'a.two writes a summary'
  ]);
});

it('finds words of a description and of the group', () => {
  open();

  expect(rows('summary agent')).toEqual(['Agent A', 'a.two writes a summary']);
});

it('shows names before descriptions, and Enter takes the first', () => {
  const chosen = open();

  expect(rows('clears')).toEqual([
    'Other B',
    'b.clears keeps ten',
    'Agent A',
    'a.one clears old results'
  ]);
  fireEvent.keyDown(screen.getByPlaceholderText('Find one'), { key: 'Enter' });
  expect(chosen).toHaveBeenCalledWith('b.clears');
});
