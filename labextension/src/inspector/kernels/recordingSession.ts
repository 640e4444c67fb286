/** The server's session whose kernel reads a recorded file: how it is named, and so known to `server_extension.py`. */
import type { Session } from '@jupyterlab/services';

/** Returns what a session for a recorded file is started with, but its kernel. */
export function recordingSession(
  file: string
): Pick<Session.ISessionOptions, 'path' | 'name' | 'type'> {
  return {
    // The kernel starts in the file's folder; the name tells it from the file's own sessions.
    path: `${file}-inspector-${Date.now()}`,
    name: nameOf(file),
    type: 'file'
  };
}

/** Returns the last piece of a path on the server. */
export function nameOf(path: string): string {
  return path.split('/').at(-1) ?? path;
}
