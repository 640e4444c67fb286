/** The folders of `src` import in one direction: each only those listed for it, and itself. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const STATE = [
  'protocol',
  'state/store',
  'state/session',
  'state/text',
  'state/lines',
  'state/display',
  'state/review'
];
const VIEWS = ['views', 'views/actions', 'views/dom', 'views/controls'];

/** What every part of the inspector imports. */
const INSPECTOR = [
  ...STATE,
  ...VIEWS,
  'state/inspector/figures',
  'state/inspector',
  'views/inspector/controls',
  'views/inspector/glossary'
];

/** Allowed imports, lowest folder first. */
const FOLDERS: Record<string, readonly string[]> = {
  protocol: [],
  'state/store': STATE.slice(0, 1),
  'state/session': STATE.slice(0, 2),
  'state/text': [],
  'state/lines': ['protocol', 'state/text'],
  'state/review': ['protocol', 'state/store', 'state/session', 'state/text'],
  'state/display': STATE.slice(0, 5),
  'state/inspector/figures': ['protocol'],
  'state/inspector': ['protocol', 'state/text', 'state/inspector/figures'],
  kernel: ['protocol', 'state/store'],
  views: ['state/text'],
  'views/actions': STATE,
  'views/dom': ['views'],
  'views/controls': [...STATE, 'views', 'views/dom'],
  'views/modelContext': [...STATE, ...VIEWS],
  'views/review': [...STATE, ...VIEWS],
  'views/parts': [...STATE, ...VIEWS, 'views/modelContext', 'views/review'],
  'views/segment': [
    ...STATE,
    ...VIEWS,
    'views/modelContext',
    'views/review',
    'views/parts'
  ],
  'views/transcript': [
    ...STATE,
    ...VIEWS,
    'views/modelContext',
    'views/parts',
    'views/segment'
  ],
  'views/sessions': [...STATE, ...VIEWS],
  'views/inspector/controls': [
    ...STATE,
    ...VIEWS,
    'state/inspector/figures',
    'state/inspector'
  ],
  'views/inspector/glossary': VIEWS,
  'views/inspector/notes': INSPECTOR,
  'views/inspector/timeline': [...INSPECTOR, 'views/inspector/notes'],
  'views/inspector/items': [...INSPECTOR, 'views/inspector/timeline'],
  'views/inspector/requests': [
    ...INSPECTOR,
    'views/inspector/notes',
    'views/inspector/timeline'
  ],
  'views/inspector/costs': [...INSPECTOR, 'views/inspector/timeline'],
  'views/inspector/compared': INSPECTOR,
  'views/inspector': [
    ...INSPECTOR,
    'views/inspector/notes',
    'views/inspector/timeline',
    'views/inspector/items',
    'views/inspector/requests',
    'views/inspector/costs',
    'views/inspector/compared'
  ],
  'views/drafts': ['protocol', 'state/text', 'views/actions'],
  'views/composer': [...STATE, ...VIEWS, 'views/drafts'],
  'views/chat': [
    ...STATE,
    ...VIEWS,
    'views/modelContext',
    'views/parts',
    'views/transcript',
    'views/sessions',
    'views/drafts',
    'views/composer'
  ],
  'notebook/rendering': [
    ...STATE,
    ...VIEWS,
    'kernel',
    'views/modelContext',
    'views/parts',
    'views/segment',
    'views/transcript'
  ],
  'notebook/cells': [...STATE, ...VIEWS, 'kernel', 'notebook/rendering'],
  'notebook/savedOutputs': [...STATE, ...VIEWS, 'kernel', 'notebook/cells'],
  'notebook/review': [
    ...STATE,
    ...VIEWS,
    'kernel',
    'views/review',
    'notebook/rendering',
    'notebook/cells'
  ],
  notebook: [
    ...STATE,
    ...VIEWS,
    'kernel',
    'notebook/rendering',
    'notebook/cells',
    'notebook/savedOutputs',
    'notebook/review',
    'views/parts',
    'views/transcript'
  ],
  'panel/actions': [
    ...STATE,
    ...VIEWS,
    'kernel',
    'notebook/rendering',
    'views/drafts',
    'views/chat'
  ],
  panel: [
    ...STATE,
    ...VIEWS,
    'kernel',
    'notebook/rendering',
    'notebook/cells',
    'notebook/savedOutputs',
    'notebook/review',
    'views/chat',
    'views/composer',
    'panel/actions'
  ],
  'inspector/kernels': ['kernel', 'state/store', 'state/text', 'views'],
  inspector: [
    ...STATE,
    ...VIEWS,
    'state/inspector',
    'kernel',
    'notebook/rendering',
    'views/inspector',
    'inspector/kernels'
  ],
  widget: [
    'protocol',
    'state/store',
    'state/inspector',
    'views',
    'views/dom',
    'views/inspector',
    'views/chat'
  ],
  report: [
    'protocol',
    'state/inspector/figures',
    'state/inspector',
    'views',
    'views/inspector',
    'widget'
  ]
};

/** The files of `src` in folders; `index.ts` is above all of them. */
const FILES = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .map(file => file.replaceAll('\\', '/'))
  .filter(file => /\/.*\.tsx?$/.test(file));

/** Returns the folders that a file imports from. */
function imported(file: string): string[] {
  const text = readFileSync(join('src', file), 'utf8');
  return [...text.matchAll(/(?:from\s+|import\()'(\.[^']+)'/g)].map(
    ([, path = '']) =>
      dirname(normalize(join(dirname(file), path))).replaceAll('\\', '/')
  );
}

describe('the folders of the page', () => {
  it('are those of the table', () => {
    const there = new Set(FILES.map(file => dirname(file)));

    expect([...there].sort()).toEqual(Object.keys(FOLDERS).sort());
  });

  it('hold at most sixteen files', () => {
    const full = Object.keys(FOLDERS).filter(
      folder => FILES.filter(file => dirname(file) === folder).length > 16
    );

    expect(full).toEqual([]);
  });

  it.each(Object.keys(FOLDERS))('%s imports what is listed for it', folder => {
    const own = FILES.filter(file => dirname(file) === folder);
    const wrong = own.flatMap(file =>
      imported(file)
        .filter(from => from !== folder && !FOLDERS[folder]?.includes(from))
        .map(from => `${file} from ${from}`)
    );

    expect(own).not.toEqual([]);
    expect(wrong).toEqual([]);
  });

  it('import one way', () => {
    const names = Object.keys(FOLDERS);
    const upward = names.flatMap((folder, height) =>
      (FOLDERS[folder] ?? [])
        .filter(other => names.indexOf(other) > height)
        .map(other => `${folder} from ${other}`)
    );
    expect(upward).toEqual([]);
  });
});
