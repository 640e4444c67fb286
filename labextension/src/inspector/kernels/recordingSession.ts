/** The server's session whose kernel reads a recorded file: how it is named, and so known to `server_extension.py`. */
import type { Session } from '@jupyterlab/services';
import { fileNameOf } from '../../state/text/filePaths';

/** Returns what a session for a recorded file is started with, but its kernel. */
export function recordingSession(
  file: string
): Pick<Session.ISessionOptions, 'path' | 'name' | 'type'> {
  return {
    // The kernel starts in the file's folder; the name tells it from the file's own sessions.
    path: `${file}-inspector-${Date.now()}`,
    name: fileNameOf(file),
    type: 'file'
  };
}
