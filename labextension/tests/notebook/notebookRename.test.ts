/** The kernel is told its notebook's new path, also when it could not receive it at once. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { describe, expect, it } from 'vitest';
import type { ILink } from '../../src/kernel/kernelLink';
import { reportRenames } from '../../src/notebook/notebookRename';
import type { LinkState } from '../../src/state/store/kernelStore';

/** Returns a notebook, and a kernel that answers only when the test allows it. */
function notebook() {
  const told: string[] = [];
  const readers = new Set<() => void>();
  const followers = new Set<() => void>();
  const link = {
    state: 'absent' as LinkState,
    store: {
      subscribe: (reader: () => void) => {
        readers.add(reader);
        return () => readers.delete(reader);
      }
    },
    command: (type: string, names: { was: string; notebook: string }) => {
      told.push(`${type} ${names.was} ${names.notebook}`);
      return Promise.resolve({});
    }
  };
  const context = {
    localPath: 'a.ipynb',
    pathChanged: {
      connect: (follower: () => void) => followers.add(follower),
      disconnect: (follower: () => void) => followers.delete(follower)
    }
  };
  const panel = { context } as unknown as NotebookPanel;
  const end = reportRenames(panel, link as unknown as ILink);
  return {
    told,
    end,
    rename: (name: string) => {
      context.localPath = name;
      followers.forEach(follower => {
        follower();
      });
    },
    hear: (state: LinkState) => {
      link.state = state;
      readers.forEach(reader => {
        reader();
      });
    }
  };
}

describe('the name of a notebook', () => {
  it('is told when it changes, and only then', () => {
    const { hear, rename, told } = notebook();
    hear('ready');
    rename('a.ipynb');
    rename('b.ipynb');
    hear('ready');

    expect(told).toEqual(['rename a.ipynb b.ipynb']);
  });

  it('is told in order once the package is loaded', () => {
    const { hear, rename, told } = notebook();
    rename('b.ipynb');
    rename('deep/c.ipynb');
    hear('connecting');
    expect(told).toEqual([]);
    hear('ready');

    expect(told).toEqual([
      'rename a.ipynb b.ipynb',
      'rename b.ipynb deep/c.ipynb'
    ]);
  });

  it('is nobody’s business after the notebook was closed', () => {
    const { end, hear, rename, told } = notebook();
    end();
    rename('b.ipynb');
    hear('ready');

    expect(told).toEqual([]);
  });
});
