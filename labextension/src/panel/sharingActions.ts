/**
 * Sessions given out and brought in, as commands to the kernel of the notebook in front.
 */
import type { ILink } from '../kernel/kernelLink';
import type { IFiles } from '../views/sessions/importExport';
import type { IShare } from '../views/sessions/sharePage';

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
