/** Paths of a file after it, or a folder above it, was renamed: on the server, and for a kernel started before. */
import { fileNameOf } from '../../state/text/filePaths';

/** Returns a file's path after something was renamed; null where that was not the file and no folder of it. */
export function renamedPath(
  file: string,
  oldPath: string,
  newPath: string
): string | null {
  if (file === oldPath) {
    return newPath;
  }
  return oldPath !== '' && file.startsWith(`${oldPath}/`)
    ? `${newPath}${file.slice(oldPath.length)}`
    : null;
}

/**
 * Returns a file as a kernel finds it that was started in `folder`, which was the folder of `started`.
 *
 * Both files are paths on the server, from its root on.
 */
export function pathForKernel(
  folder: string,
  startedFile: string,
  file: string
): string {
  const [startedFolders, folders] = [startedFile, file].map(path =>
    path.split('/').slice(0, -1)
  );
  if (
    startedFolders === undefined ||
    startedFolders.join('/') === folders?.join('/')
  ) {
    return `${folder}/${fileNameOf(file)}`;
  }
  return `${folder}/${'../'.repeat(startedFolders.length)}${file}`;
}
