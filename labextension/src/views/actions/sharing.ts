/** Actions that share, export and import sessions. */
import type {
  Export,
  ExportedFile,
  Imported,
  Problem
} from '../../protocol/generated';
import { createActionContext } from './actionContext';

export type ExportFormat = NonNullable<Export['form']>;

/** The written file, or the error. */
interface IFileOutcome {
  error?: string;
  file?: ExportedFile;
}

/** The result of an import. */
export interface IImportResult {
  error?: string;
  imported?: readonly Imported[];
  /** Files that could not be read, with the reasons. */
  unreadable?: readonly Problem[];
}

/** How far an import is. */
export interface IImportProgress {
  id: string;
  bytes: number;
  /** 0 while it is not known. */
  total: number;
}

export interface ISharingActions {
  /** Creates a share page of a session. */
  share(session: string): Promise<IFileOutcome>;
  /** Deletes a share page; `late` if there was none. */
  unshare(session: string): Promise<{ error?: string; late?: boolean }>;
  /** Exports a session to a new file of the project. */
  export(session: string, format: ExportFormat): Promise<IFileOutcome>;
  /** Imports sessions from a file or folder of the project; calls back as it goes on. */
  import(
    path: string,
    onProgress: (progress: IImportProgress) => void
  ): Promise<IImportResult>;
  /** Stops an import that runs; its result holds what was read until then. */
  stopImport(id: string): Promise<void>;
}

export const {
  Provider: SharingActionsProvider,
  useIfOffered: useSharingActionsIfOffered,
  useOffered: useSharingActions
} = createActionContext<ISharingActions>('sharing actions');
