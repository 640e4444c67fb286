/** A recorded file that is renamed while it is inspected is found under its new name. */
import { expect, it } from 'vitest';
import {
  pathForKernel,
  renamedPath
} from '../../src/inspector/kernels/renamedFiles';

it.each([
  ['a/b.jsonl', 'a/b.jsonl', 'a/c.jsonl', 'a/c.jsonl'],
  ['a/b.jsonl', 'a', 'z', 'z/b.jsonl'],
  ['a/b.jsonl', 'a/b', 'a/c', null],
  ['b.jsonl', '', 'a', null]
])('%s after %s became %s is %s', (file, from, to, found) => {
  expect(renamedPath(file, from, to)).toBe(found);
});

it.each([
  ['/root/a', 'a/b.jsonl', 'a/c.jsonl', '/root/a/c.jsonl'],
  ['/root', 'b.jsonl', 'c.jsonl', '/root/c.jsonl'],
  ['/root/a/b', 'a/b/c.jsonl', 'd/c.jsonl', '/root/a/b/../../d/c.jsonl'],
  ['/root', 'b.jsonl', 'a/b.jsonl', '/root/a/b.jsonl']
])(
  'a kernel in %s, started for %s, finds %s',
  (folder, started, file, path) => {
    expect(pathForKernel(folder, started, file)).toBe(path);
  }
);
