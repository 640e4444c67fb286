/** A row of work may reach over the outputs of a cell. */
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/protocol/generated';
import {
  turnRows,
  type TurnOutputs
} from '../../../src/state/display/turnRows';
import { assistant, ran, segment, step, text } from '../../builders';

const read = (path: string) => ran('read', { path }, 'x');
const output = (...parts: Part[]) => segment([assistant(parts)]);
const kinds = (outputs: TurnOutputs) =>
  outputs.map((_, place) =>
    turnRows(outputs, place, 'quiet', false).map(({ kind }) => kind)
  );

describe('the rows of a turn in several outputs', () => {
  it('stand where their first line is', () => {
    const outputs = [
      output(read('a'), step(), read('b'), step()),
      output(read('c'), step()),
      output(read('d'), step(), text('So.'), step())
    ];

    expect(kinds(outputs)).toEqual([['work'], [], ['text']]);
  });

  it('end at another output, such as a figure', () => {
    const outputs = [
      output(read('a'), step(), read('b'), step()),
      null,
      output(read('c'), step(), read('d'), step())
    ];

    expect(kinds(outputs)).toEqual([['work'], [], ['work']]);
  });

  it('are the same object until they change', () => {
    const first = output(read('a'), step(), read('b'), step());
    const before = turnRows([first, output(text('S'))], 0, 'quiet', true);

    expect(turnRows([first, output(text('So.'))], 0, 'quiet', true)).toBe(
      before
    );
    expect(turnRows([first, output(read('c'))], 0, 'quiet', false)).not.toBe(
      before
    );
  });
});
