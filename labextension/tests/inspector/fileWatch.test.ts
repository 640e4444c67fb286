/** A watched file: changed, gone, come back, or out of reach. */
import type { Contents } from '@jupyterlab/services';
import { expect, it } from 'vitest';
import { FileWatch } from '../../src/inspector/kernels/fileWatch';

const NOT_FOUND = Object.assign(new Error('no'), {
  response: { status: 404 }
});

/** A server with these files, by path and size, that notes what it is asked. */
function server(files: Map<string, number>) {
  const asked: string[] = [];
  const get = (path: string) => {
    asked.push(path);
    const inside = [...files.keys()].filter(
      entryPath => path === '' || entryPath.startsWith(`${path}/`)
    );
    const size = files.get(path);
    if (size !== undefined) {
      return Promise.resolve({ last_modified: 'now', size });
    }
    if (path !== '' && inside.length === 0) {
      return Promise.reject(NOT_FOUND);
    }
    const depth = path === '' ? 0 : path.split('/').length;
    const names = inside.map(entryPath => entryPath.split('/')[depth] ?? '');
    const content = [...new Set(names)].map(name => ({
      path: path === '' ? name : `${path}/${name}`
    }));
    return Promise.resolve({ content });
  };
  return { asked, contents: { get } as unknown as Contents.IManager };
}

it('tells of a change, and of nothing where the server does not answer', async () => {
  const files = new Map([['a/one.jsonl', 3]]);
  const watch = new FileWatch(server(files).contents);
  const first = await watch.stampOf('a/one.jsonl', '');
  files.set('a/one.jsonl', 4);
  expect(await watch.stampOf('a/one.jsonl', first)).not.toBe(first);
  const mute = { get: () => Promise.reject(new Error('offline')) };
  const other = new FileWatch(mute as unknown as Contents.IManager);
  expect(await other.stampOf('a/one.jsonl', first)).toBe(first);
});

it('is refused once for each thing that is gone, and finds the file when it is back', async () => {
  const files = new Map([['a/one.jsonl', 3]]);
  const { asked, contents } = server(files);
  const watch = new FileWatch(contents);
  const first = await watch.stampOf('a/one.jsonl', '');
  files.clear();
  files.set('other', 1);
  const gone = await watch.stampOf('a/one.jsonl', first);
  expect(gone).not.toBe(first);
  for (let times = 0; times < 4; times += 1) {
    expect(await watch.stampOf('a/one.jsonl', gone)).toBe(gone);
  }
  expect(asked.slice(1)).toEqual(['a/one.jsonl', 'a', '', '', '']);

  files.set('a/one.jsonl', 3);
  expect(await watch.stampOf('a/one.jsonl', gone)).toBe(first);
  expect(asked.slice(-2)).toEqual(['', 'a/one.jsonl']);
});
