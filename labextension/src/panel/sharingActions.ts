/**
 * Share pages, exports and imports as commands to the active notebook's kernel.
 */
import type { ICommandTarget } from '../notebook/rendering/linkActions';
import type { ISharingActions } from '../views/actions/sharing';

export function sharingActions(target: ICommandTarget): ISharingActions {
  return {
    share: async session =>
      (await target.link?.outcome('share', { session })) ?? {},
    unshare: async session =>
      (await target.link?.outcome('unshare', { session })) ?? {},
    export: async (session, form) =>
      (await target.link?.outcome('export', { session, form })) ?? {},
    import: async (path, onProgress) =>
      (await target.link?.outcome('import', { path }, onProgress)) ?? {},
    stopImport: async id => {
      await target.link?.outcome('stop-import', { import_id: id });
    }
  };
}
