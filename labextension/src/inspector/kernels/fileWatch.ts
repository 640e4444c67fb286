/** When a file on the server was changed last, and whether it is there. */
import type { Contents, ServerConnection } from '@jupyterlab/services';

/** The stamp of a file that is not there. */
const GONE = 'gone';

/**
 * Looks at one file.
 *
 * Responsibilities: tell a file that is gone from a server that does not answer; ask for a missing one by the
 * list of its folder, since the browser reports each request that is answered with 404 as an error.
 */
export class FileWatch {
  /** The file, or the folder above it, that was found to be missing. */
  private _missing: string | null = null;

  constructor(private readonly _contents: Contents.IManager) {}

  /** Returns what differs when the file does; `before` where the server does not say. */
  async look(file: string, before: string): Promise<string> {
    let asked = file;
    try {
      if (this._missing !== null && isWithin(file, this._missing)) {
        asked = folderOf(this._missing);
        const folder = await this._contents.get(asked);
        const listed = folder.content as readonly Contents.IModel[];
        if (!listed.some(({ path }) => path === this._missing)) {
          return GONE;
        }
      }
      this._missing = null;
      asked = file;
      const found = await this._contents.get(file, { content: false });
      return `${found.last_modified} ${found.size}`;
    } catch (reason) {
      if (!isNotFound(reason)) {
        return before;
      }
      this._missing = asked;
      return GONE;
    }
  }
}

function isWithin(file: string, missing: string): boolean {
  return file === missing || file.startsWith(`${missing}/`);
}

function folderOf(path: string): string {
  return path.split('/').slice(0, -1).join('/');
}

function isNotFound(reason: unknown): boolean {
  const { response } = reason as Partial<ServerConnection.ResponseError>;
  return response?.status === 404;
}
