/** Files of JupyterLab's file browser, for a prompt of a notebook. */
import type { Contents } from '@jupyterlab/services';

/** Matches characters that end a mention or are not allowed in one (`session/prompts/prompt_syntax.py`). */
const UNNAMEABLE = /[\s`,;:!?"'()[\]{}<>@]|\.$/;

/** Returns how a prompt of a notebook names a file: the path from the notebook's folder; null where it cannot. */
export function mentionOf(path: string, notebook: string): string | null {
  const from = notebook.split('/').slice(0, -1);
  const to = path.split('/');
  let shared = 0;
  while (shared < from.length && from[shared] === to[shared]) {
    shared += 1;
  }
  const parents = from.slice(shared).map(() => '..');
  const relative = [...parents, ...to.slice(shared)].join('/');
  if (relative === '' || UNNAMEABLE.test(relative)) {
    return null;
  }
  // A word without a dot or a slash names a variable.
  return /[./]/.test(relative) ? relative : `./${relative}`;
}

/** Resolves to the content of a file as a `data:` URL. */
export async function readFile(
  contents: Contents.IManager,
  path: string
): Promise<string> {
  const model = await contents.get(path, {
    type: 'file',
    format: 'base64',
    content: true
  });
  const content: unknown = model.content;
  if (typeof content !== 'string') {
    throw new Error(`${path} has no content.`);
  }
  return `data:application/octet-stream;base64,${content.replace(/\s/g, '')}`;
}
