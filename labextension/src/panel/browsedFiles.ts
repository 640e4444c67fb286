/** Files of JupyterLab's file browser, for a prompt of a notebook. */
import type { Contents } from '@jupyterlab/services';

/** Matches characters that end a mention or are not allowed in one (`session/prompts/prompt_syntax.py`). */
const UNNAMEABLE = /[\s`,;:!?"'()[\]{}<>@]|\.$/;

/** Returns how a prompt of a notebook names a file: the path from the notebook's folder; null where it cannot. */
export function mentionOf(path: string, notebookPath: string): string | null {
  const notebookFolders = notebookPath.split('/').slice(0, -1);
  const pathNames = path.split('/');
  let sharedCount = 0;
  while (
    sharedCount < notebookFolders.length &&
    notebookFolders[sharedCount] === pathNames[sharedCount]
  ) {
    sharedCount += 1;
  }
  const parents = notebookFolders.slice(sharedCount).map(() => '..');
  const relativePath = [...parents, ...pathNames.slice(sharedCount)].join('/');
  if (relativePath === '' || UNNAMEABLE.test(relativePath)) {
    return null;
  }
  // A word without a dot or a slash names a variable.
  return /[./]/.test(relativePath) ? relativePath : `./${relativePath}`;
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
