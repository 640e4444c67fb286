/** Paths of files as JupyterLab's server and the engine write them: with slashes. */

/** Returns the last piece of a path: the file's name. */
export function fileNameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Returns the folder of a path; empty where the path has one piece. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
