/** A prompt names a file of the file browser by its path from the notebook's folder. */
import { expect, it } from 'vitest';
import { mentionOf } from '../../src/panel/browsedFiles';

it.each([
  ['birds.csv', 'book.ipynb', 'birds.csv'],
  ['data/birds.csv', 'data/book.ipynb', 'birds.csv'],
  ['data/birds.csv', 'notes/deep/book.ipynb', '../../data/birds.csv'],
  ['Makefile', 'book.ipynb', './Makefile'],
  ['two words.csv', 'book.ipynb', null],
  ['a@b.csv', 'book.ipynb', null],
  ['ends.', 'book.ipynb', null]
])('%s from %s is %s', (path, notebook, named) => {
  expect(mentionOf(path, notebook)).toBe(named);
});
