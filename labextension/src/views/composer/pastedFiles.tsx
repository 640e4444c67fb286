/** Files, tables and cells that are pasted or dropped into the composer: each becomes a mention or an attachment. */
import {
  useEffect,
  useMemo,
  useRef,
  useState,
  type ClipboardEvent,
  type DragEvent,
  type RefObject
} from 'react';
import type { Attachment, PastedFile } from '../../protocol/generated';
import { count, shortCount } from '../../state/text/numberFormat';
import { fileNameOf } from '../../state/text/filePaths';
import { visibleText } from '../../state/text/visibleText';
import { useNotebookActions } from '../actions/notebook';
import { usePromptActions } from '../actions/prompts';
import {
  holdsFiles,
  isAttachable,
  transferredContent,
  transferredInLab,
  type IMimeData,
  type ITransferredContent,
  type ITransferredFile
} from '../dom/transferredContent';
import { SmallButton } from '../controls/buttons';
import { useHost, type IWords } from '../host';
import { filesOf, type IDrafts } from '../drafts/drafts';
import { useLatest } from '../dom/effects';

/** Files with one prompt, as from Python (`session/prompts/prompt_files.py`). */
export const MAX_FILES = 20;
/** Bytes of one file; the kernel has the same limit (`session/prompts/pasted_files.py`). */
export const MAX_FILE_BYTES = 6_000_000;
/** How often the kernel is asked about one file, and the milliseconds between: it may just begin a session. */
const MAX_TRIES = 4;
const RETRY_MS = 1000;
/** Tokens of a file that goes along without a question. */
export const MAX_UNASKED_TOKENS = 10_000;

/** The kernel's descriptions of a draft's files, by their URL. */
export type FileDescriptions = ReadonlyMap<string, PastedFile>;

interface IPastedFiles {
  descriptions: FileDescriptions;
  /** Large files about which the person has not decided. */
  undecided: readonly PastedFile[];
  /** How many files are being read. */
  readingCount: number;
  /** Why something was not attached, a sentence each. */
  problems: readonly string[];
  /** Whether something is dragged over the composer that would be attached. */
  isDraggedOver: boolean;
  decide(file: PastedFile, isAttached: boolean): void;
  /** Focuses the first undecided file; returns whether the prompt must wait for a decision or a file. */
  focusUndecided(): boolean;
  forgetProblems: () => void;
  handlers: {
    onPaste(event: ClipboardEvent): void;
    onDragOver(event: DragEvent): void;
    onDragLeave(event: DragEvent): void;
    onDrop(event: DragEvent): void;
  };
}

/** Adds what is pasted and dropped into a form to the draft; returns its state and the handlers of the form. */
export function usePastedFiles(
  formRef: RefObject<HTMLFormElement>,
  drafts: IDrafts,
  answerer: { model: string; agent?: string },
  readOnly: boolean,
  onMention: (text: string) => void
): IPastedFiles {
  const { words } = useHost();
  const prompts = usePromptActions();
  const notebookActions = useNotebookActions();
  const [readingCount, setReadingCount] = useState(0);
  const [undecided, setUndecided] = useState<readonly PastedFile[]>([]);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [isDraggedOver, setIsDraggedOver] = useState(false);
  const { descriptions, addDescription } = useFileDescriptions(
    drafts,
    answerer.model
  );
  const files = filesOf(drafts.draft.chosen);

  const attach = async (
    name: string,
    url: string
  ): Promise<PastedFile | null> => {
    const attachment: Attachment = { mime: 'text/plain', filename: name, url };
    const descriptionOrProblem = await prompts.attach(
      attachment,
      answerer.model
    );
    if (typeof descriptionOrProblem === 'string') {
      setProblems(before => [...before, descriptionOrProblem]);
      return null;
    }
    addDescription(descriptionOrProblem);
    return descriptionOrProblem;
  };

  const attachPath = async (path: string): Promise<PastedFile | null> => {
    const mention = notebookActions.mentionOf(path);
    const [preview] =
      mention === null
        ? []
        : await prompts.previews(`@${mention}`, answerer.agent);
    if (mention !== null && preview?.kind === 'file') {
      if (preview.state !== 'unknown') {
        onMention(`@${mention}`);
        return null;
      }
    }
    // Outside of the project, or with a name that no prompt can hold.
    return attach(fileNameOf(path), await notebookActions.readFile(path));
  };

  const attachFile = async (file: ITransferredFile) => {
    if (file.bytes > MAX_FILE_BYTES) {
      setProblems(before => [...before, tooLargeText(file, words)]);
      return null;
    }
    return attach(file.name, await file.read());
  };

  const attachContent = async ({
    files: transferredFiles,
    paths
  }: ITransferredContent) => {
    const readers = [
      ...paths.map(path => [fileNameOf(path), () => attachPath(path)] as const),
      ...transferredFiles.map(
        file => [file.name, () => attachFile(file)] as const
      )
    ];
    const freeCount = Math.max(0, MAX_FILES - files.length - undecided.length);
    setProblems(
      readers.length > freeCount
        ? [words.__('At most %1 files go with one prompt.', MAX_FILES)]
        : []
    );
    setReadingCount(before => before + 1);
    const attachments: Attachment[] = [];
    for (const [name, read] of readers.slice(0, freeCount)) {
      const description = await read().catch(() => {
        setProblems(before => [
          ...before,
          words.__('%1 cannot be read.', visibleText(name))
        ]);
        return null;
      });
      if (description !== null && description.tokens > MAX_UNASKED_TOKENS) {
        setUndecided(before => [...before, description]);
      } else if (description !== null) {
        attachments.push(description.attachment);
      }
    }
    drafts.addOptions({ files: attachments });
    setReadingCount(before => before - 1);
  };
  useLabDrags(formRef, readOnly, setIsDraggedOver, content => {
    void attachContent(content);
  });

  const onTransfer = (
    event: ClipboardEvent | DragEvent,
    data: DataTransfer
  ) => {
    const content = transferredContent(data);
    if (!readOnly && content.files.length > 0) {
      event.preventDefault();
      event.stopPropagation();
      void attachContent(content);
    }
  };
  return {
    descriptions,
    undecided,
    readingCount,
    problems,
    isDraggedOver,
    decide: (file, isAttached) => {
      setUndecided(before => before.filter(other => other !== file));
      if (isAttached) {
        drafts.addOptions({ files: [file.attachment] });
      }
    },
    focusUndecided: () => {
      formRef.current
        ?.querySelector<HTMLElement>('.plm-LargeFile button')
        ?.focus();
      return readingCount > 0 || undecided.length > 0;
    },
    forgetProblems: () => {
      setProblems([]);
    },
    handlers: {
      onPaste: event => {
        onTransfer(event, event.clipboardData);
      },
      onDragOver: event => {
        if (!readOnly && holdsFiles(event.dataTransfer)) {
          event.preventDefault();
          event.dataTransfer.dropEffect = 'copy';
          setIsDraggedOver(true);
        }
      },
      onDragLeave: () => {
        setIsDraggedOver(false);
      },
      onDrop: event => {
        setIsDraggedOver(false);
        if (holdsFiles(event.dataTransfer)) {
          // Even what is refused must not make the browser leave the page.
          event.preventDefault();
          onTransfer(event, event.dataTransfer);
        }
      }
    }
  };
}

/** Returns the kernel’s descriptions of a draft’s files, asked for where they are missing: after a reload, or for another model. */
function useFileDescriptions(
  drafts: IDrafts,
  model: string
): {
  descriptions: FileDescriptions;
  addDescription: (file: PastedFile) => void;
} {
  const prompts = usePromptActions();
  const [descriptionsByKey, setDescriptionsByKey] = useState<
    ReadonlyMap<string, PastedFile>
  >(new Map());
  const triesByKey = useRef(new Map<string, number>());
  const askedKeys = useRef(new Set<string>());
  const [, askAgain] = useState(0);
  const addDescription = (file: PastedFile, url = file.attachment.url) => {
    triesByKey.current.set(`${model} ${url}`, MAX_TRIES);
    setDescriptionsByKey(before =>
      new Map(before).set(`${model} ${url}`, file)
    );
  };
  const files = filesOf(drafts.draft.chosen);
  useEffect(() => {
    for (const file of files) {
      const key = `${model} ${file.url}`;
      const tries = triesByKey.current.get(key) ?? 0;
      if (tries < MAX_TRIES && !askedKeys.current.has(key)) {
        triesByKey.current.set(key, tries + 1);
        askedKeys.current.add(key);
        void prompts.attach(file, model).then(descriptionOrProblem => {
          askedKeys.current.delete(key);
          if (typeof descriptionOrProblem !== 'string') {
            addDescription(descriptionOrProblem, file.url);
          } else {
            setTimeout(() => {
              askAgain(before => before + 1);
            }, RETRY_MS);
          }
        });
      }
    }
  });
  const descriptions = useMemo(
    () =>
      new Map(
        [...descriptionsByKey].flatMap(([key, file]) =>
          key.startsWith(`${model} `)
            ? [[key.slice(model.length + 1), file] as const]
            : []
        )
      ),
    [descriptionsByKey, model]
  );
  return { descriptions, addDescription };
}

/** An event of JupyterLab's own drags. */
interface ILabDrag extends Event {
  readonly mimeData: IMimeData;
  readonly proposedAction: string;
  dropAction: string;
}

/** Listens to drags of cells and of files from the file browser. */
function useLabDrags(
  formRef: RefObject<HTMLFormElement>,
  readOnly: boolean,
  onOver: (isOver: boolean) => void,
  onDrop: (content: ITransferredContent) => void
): void {
  const latestHandlers = useLatest({ readOnly, onOver, onDrop });
  useEffect(() => {
    const node = formRef.current;
    const handleDrag = (event: Event) => {
      const drag = event as ILabDrag;
      const handlers = latestHandlers.current;
      if (handlers.readOnly || !isAttachable(drag.mimeData)) {
        return;
      }
      drag.preventDefault();
      drag.stopPropagation();
      handlers.onOver(
        drag.type === 'lm-dragenter' || drag.type === 'lm-dragover'
      );
      // What is dragged stays where it is, whatever its source proposes.
      drag.dropAction =
        drag.type === 'lm-dragleave' ? 'none' : drag.proposedAction;
      if (drag.type === 'lm-drop') {
        handlers.onDrop(transferredInLab(drag.mimeData));
      }
    };
    const listenerController = new AbortController();
    for (const type of DRAG_EVENTS) {
      node?.addEventListener(type, handleDrag, {
        signal: listenerController.signal
      });
    }
    return () => {
      listenerController.abort();
    };
  }, [formRef, latestHandlers]);
}

const DRAG_EVENTS = ['lm-dragenter', 'lm-dragover', 'lm-dragleave', 'lm-drop'];

/** Draws a question about each large file, and why something was not attached. */
export function PastedFilesStatus({ pasted }: { pasted: IPastedFiles }) {
  const { words } = useHost();
  return (
    <>
      <span className="plm-Hidden" role="status">
        {pasted.readingCount > 0 && words.__('Reading what was pasted')}
      </span>
      {pasted.undecided.map(file => (
        <LargeFile
          key={file.attachment.url}
          file={file}
          onDecide={isAttached => {
            pasted.decide(file, isAttached);
          }}
        />
      ))}
      {pasted.problems.length > 0 && (
        <div className="plm-LargeFile" role="alert">
          <span>{visibleText(pasted.problems.join(' '))}</span>
          <SmallButton onClick={pasted.forgetProblems}>
            {words.__('Dismiss')}
          </SmallButton>
        </div>
      )}
    </>
  );
}

function LargeFile(props: {
  file: PastedFile;
  onDecide: (isAttached: boolean) => void;
}) {
  const {
    file: { attachment, tokens },
    onDecide
  } = props;
  const { words } = useHost();
  const text = words.__(
    '%1 is large: ~%2 tokens go with this prompt and stay in the context.',
    visibleText(attachment.filename ?? attachment.mime),
    count(tokens)
  );
  return (
    <div className="plm-LargeFile" role="group" aria-label={text}>
      <span role="alert">{text}</span>
      <SmallButton
        onClick={() => {
          onDecide(true);
        }}
      >
        {words.__('Attach')}
      </SmallButton>
      <SmallButton
        onClick={() => {
          onDecide(false);
        }}
      >
        {words.__('Leave out')}
      </SmallButton>
    </div>
  );
}

/** Returns what is known of a file in a few words: its tokens, and whether the model sees it. */
export function fileNote(file: PastedFile | undefined, words: IWords): string {
  if (file === undefined) {
    return '';
  }
  return file.unseen
    ? words.__('named only: this model sees no pictures')
    : words.__('~%1 tokens', shortCount(file.tokens));
}

function tooLargeText(
  { name, bytes }: ITransferredFile,
  words: IWords
): string {
  return words.__(
    '%1 has %2 MB; at most %3 MB can be attached. Put it into the project’s folder and name it with @.',
    visibleText(name),
    (bytes / 1_000_000).toFixed(1),
    MAX_FILE_BYTES / 1_000_000
  );
}
