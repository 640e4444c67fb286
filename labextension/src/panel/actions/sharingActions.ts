/** Share pages, exports and imports as commands to the active notebook's kernel. */
import type { ICommandTarget } from '../../notebook/rendering/linkActions';
import type { ISharingActions } from '../../views/actions/sharing';

export function sharingActions(target: ICommandTarget): ISharingActions {
  return {
    share: async session => {
      const outcome = await target.link?.outcome('share', { session });
      return { error: outcome?.error, file: outcome?.answer };
    },
    unshare: async session => {
      const outcome = await target.link?.outcome('unshare', { session });
      return { error: outcome?.error, late: outcome?.answer?.late };
    },
    export: async (session, form) => {
      const outcome = await target.link?.outcome('export', { session, form });
      return { error: outcome?.error, file: outcome?.answer };
    },
    import: async (path, onProgress) => {
      const outcome = await target.link?.outcome(
        'import',
        { path },
        onProgress
      );
      return { error: outcome?.error, ...outcome?.answer };
    },
    stopImport: async id => {
      await target.link?.outcome('stop-import', { import_id: id });
    }
  };
}
