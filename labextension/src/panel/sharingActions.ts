/**
 * Share pages, exports and imports as commands to the active notebook's kernel.
 */
import type { ICommandTarget } from '../notebook/rendering/linkActions';
import type { ISharingActions } from '../views/actions/sharing';

export function sharingActions(target: ICommandTarget): ISharingActions {
  return {
    share: async session => {
      const made = await target.link?.outcome('share', { session });
      return { error: made?.error, file: made?.answer };
    },
    unshare: async session => {
      const done = await target.link?.outcome('unshare', { session });
      return { error: done?.error, late: done?.answer?.late };
    },
    export: async (session, form) => {
      const made = await target.link?.outcome('export', { session, form });
      return { error: made?.error, file: made?.answer };
    },
    import: async (path, onProgress) => {
      const done = await target.link?.outcome('import', { path }, onProgress);
      return { error: done?.error, ...done?.answer };
    },
    stopImport: async id => {
      await target.link?.outcome('stop-import', { import_id: id });
    }
  };
}
