/** Reads when a file on the server was last changed, and whether it exists. */
import type { Contents, ServerConnection } from '@jupyterlab/services';
import { folderOf } from '../../state/text/filePaths';

/** The stamp of a file that is not there. */
const MISSING_STAMP = 'gone';

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

  /** Returns a text that changes with the file; `before` where the server does not answer. */
  async stampOf(file: string, before: string): Promise<string> {
    let requested = file;
    try {
      if (this._missing !== null && isWithin(file, this._missing)) {
        requested = folderOf(this._missing);
        const folder = await this._contents.get(requested);
        const listed = folder.content as readonly Contents.IModel[];
        if (!listed.some(({ path }) => path === this._missing)) {
          return MISSING_STAMP;
        }
      }
      this._missing = null;
      requested = file;
      const model = await this._contents.get(file, { content: false });
      return `${model.last_modified} ${model.size}`;
    } catch (reason) {
      if (!isNotFound(reason)) {
        return before;
      }
      this._missing = requested;
      return MISSING_STAMP;
    }
  }
}

function isWithin(file: string, missing: string): boolean {
  return file === missing || file.startsWith(`${missing}/`);
}

function isNotFound(reason: unknown): boolean {
  const { response } = reason as Partial<ServerConnection.ResponseError>;
  return response?.status === 404;
}
