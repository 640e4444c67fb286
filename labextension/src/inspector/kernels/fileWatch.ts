/** Reads when a file on the server was last changed, and whether it exists. */
import type { Contents, ServerConnection } from '@jupyterlab/services';
import { folderOf } from '../../state/text/filePaths';

/** The stamp of a file that is not there. */
const MISSING_STAMP = 'gone';

/**
 * Returns stamps of one file, which change with it.
 *
 * Responsibilities: tell a file that is gone from a server that does not answer; ask for a missing one by the
 * list of its folder, since the browser reports each request that is answered with 404 as an error.
 */
export class FileWatch {
  /** The file, or the folder above it, that was found to be missing. */
  private _missingPath: string | null = null;

  constructor(private readonly _contents: Contents.IManager) {}

  /** Returns a text that changes with the file; `before` where the server does not answer. */
  async stampOf(file: string, stampBefore: string): Promise<string> {
    let requestedPath = file;
    try {
      if (this._missingPath !== null && isWithin(file, this._missingPath)) {
        requestedPath = folderOf(this._missingPath);
        const folder = await this._contents.get(requestedPath);
        const folderFiles = folder.content as readonly Contents.IModel[];
        if (!folderFiles.some(({ path }) => path === this._missingPath)) {
          return MISSING_STAMP;
        }
      }
      this._missingPath = null;
      requestedPath = file;
      const model = await this._contents.get(file, { content: false });
      return `${model.last_modified} ${model.size}`;
    } catch (reason) {
      if (!isNotFound(reason)) {
        return stampBefore;
      }
      this._missingPath = requestedPath;
      return MISSING_STAMP;
    }
  }
}

function isWithin(file: string, missingPath: string): boolean {
  return file === missingPath || file.startsWith(`${missingPath}/`);
}

function isNotFound(reason: unknown): boolean {
  const { response } = reason as Partial<ServerConnection.ResponseError>;
  return response?.status === 404;
}
