/**
 * Sessions given out and brought in, as commands to the kernel of the notebook in front.
 */
import type { ILink } from '../kernel/link';
import type { IFiles } from '../views/chat/files';
import type { IShare } from '../views/chat/share';

/** Makes pages of sessions with the kernel that is in front then. */
export function sharing(link: () => ILink | null): IShare {
  return {
    make: async session => (await link()?.outcome('share', { session })) ?? {},
    takeBack: async session =>
      (await link()?.outcome('unshare', { session })) ?? {}
  };
}

/** Writes and reads files with the kernel that is in front then. */
export function filing(link: () => ILink | null): IFiles {
  return {
    give: async (session, form) =>
      (await link()?.outcome('export', { session, form })) ?? {},
    bring: async path => (await link()?.outcome('import', { path })) ?? {}
  };
}
