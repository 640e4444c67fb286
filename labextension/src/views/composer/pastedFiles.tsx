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
  type ITransferred,
  type ITransferredFile
} from '../dom/transferredContent';
import { SmallButton } from '../controls/buttons';
import { useHost, type IWords } from '../host';
import { filesOf, type IDrafts } from '../drafts/drafts';
import { useLatest } from '../dom/effects';

/** Files with one prompt, as from Python (`session/prompts/prompt_files.py`). */
export const MAX_FILES = 20;
/** Bytes of one file; the kernel has the same limit (`session/prompts/pasted_files.py`). */
export const LARGEST_BYTES = 6_000_000;
/** How often the kernel is asked about one file, and the milliseconds between: it may just begin a session. */
const MAX_TRIES = 4;
const AGAIN_MS = 1000;
/** Tokens above which a person is asked before a file goes along. */
export const LARGE_TOKENS = 10_000;

/** The kernel's descriptions of a draft's files, by their URL. */
export type KnownFiles = ReadonlyMap<string, PastedFile>;

interface IPastedFiles {
  known: KnownFiles;
  /** Large files about which the person has not decided. */
  undecided: readonly PastedFile[];
  /** How many files are being read. */
  reading: number;
  /** Why something was not attached, a sentence each. */
  problems: readonly string[];
  /** Whether something is dragged over the composer that would be attached. */
  isOver: boolean;
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

/** Returns what is pasted and dropped into a form, and takes it into the draft. */
export function usePastedFiles(
  form: RefObject<HTMLFormElement>,
  drafts: IDrafts,
  answering: { model: string; agent?: string },
  readOnly: boolean,
  onMention: (text: string) => void
): IPastedFiles {
  const { words } = useHost();
  const prompts = usePromptActions();
  const notebook = useNotebookActions();
  const [reading, setReading] = useState(0);
  const [undecided, setUndecided] = useState<readonly PastedFile[]>([]);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [isOver, setIsOver] = useState(false);
  const { known, addFile } = useKnownFiles(drafts, answering.model);
  const files = filesOf(drafts.draft.chosen);

  const attach = async (
    name: string,
    url: string
  ): Promise<PastedFile | null> => {
    const attachment: Attachment = { mime: 'text/plain', filename: name, url };
    const attached = await prompts.attach(attachment, answering.model);
    if (typeof attached === 'string') {
      setProblems(before => [...before, attached]);
      return null;
    }
    addFile(attached);
    return attached;
  };

  const takePath = async (path: string): Promise<PastedFile | null> => {
    const mention = notebook.mentionOf(path);
    const [preview] =
      mention === null
        ? []
        : await prompts.previews(`@${mention}`, answering.agent);
    if (mention !== null && preview?.kind === 'file') {
      if (preview.state !== 'unknown') {
        onMention(`@${mention}`);
        return null;
      }
    }
    // Outside of the project, or with a name that no prompt can hold.
    return attach(fileNameOf(path), await notebook.readFile(path));
  };

  const takeFile = async (file: ITransferredFile) => {
    if (file.bytes > LARGEST_BYTES) {
      setProblems(before => [...before, tooLargeText(file, words)]);
      return null;
    }
    return attach(file.name, await file.read());
  };

  const take = async ({ files: given, paths }: ITransferred) => {
    const all = [
      ...paths.map(path => [fileNameOf(path), () => takePath(path)] as const),
      ...given.map(file => [file.name, () => takeFile(file)] as const)
    ];
    const room = Math.max(0, MAX_FILES - files.length - undecided.length);
    setProblems(
      all.length > room
        ? [words.__('At most %1 files go with one prompt.', MAX_FILES)]
        : []
    );
    setReading(before => before + 1);
    const small: Attachment[] = [];
    for (const [name, read] of all.slice(0, room)) {
      const attached = await read().catch(() => {
        setProblems(before => [
          ...before,
          words.__('%1 cannot be read.', visibleText(name))
        ]);
        return null;
      });
      if (attached !== null && attached.tokens > LARGE_TOKENS) {
        setUndecided(before => [...before, attached]);
      } else if (attached !== null) {
        small.push(attached.attachment);
      }
    }
    drafts.keep({ files: small });
    setReading(before => before - 1);
  };
  useDragsHere(form, readOnly, setIsOver, content => {
    void take(content);
  });

  const onTransfer = (
    event: ClipboardEvent | DragEvent,
    data: DataTransfer
  ) => {
    const content = transferredContent(data);
    if (!readOnly && content.files.length > 0) {
      event.preventDefault();
      event.stopPropagation();
      void take(content);
    }
  };
  return {
    known,
    undecided,
    reading,
    problems,
    isOver,
    decide: (file, isAttached) => {
      setUndecided(before => before.filter(other => other !== file));
      if (isAttached) {
        drafts.keep({ files: [file.attachment] });
      }
    },
    focusUndecided: () => {
      form.current
        ?.querySelector<HTMLElement>('.plm-LargeFile button')
        ?.focus();
      return reading > 0 || undecided.length > 0;
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
          setIsOver(true);
        }
      },
      onDragLeave: () => {
        setIsOver(false);
      },
      onDrop: event => {
        setIsOver(false);
        if (holdsFiles(event.dataTransfer)) {
          // Even what is refused must not make the browser leave the page.
          event.preventDefault();
          onTransfer(event, event.dataTransfer);
        }
      }
    }
  };
}

/** Asks the kernel about the files of a draft that are not known yet, such as after a reload or for another model. */
function useKnownFiles(
  drafts: IDrafts,
  model: string
): { known: KnownFiles; addFile: (file: PastedFile) => void } {
  const prompts = usePromptActions();
  const [filesByModel, setFilesByModel] = useState<
    ReadonlyMap<string, PastedFile>
  >(new Map());
  const undecided = useRef(new Map<string, number>());
  const waiting = useRef(new Set<string>());
  const [, askAgain] = useState(0);
  const addFile = (file: PastedFile, url = file.attachment.url) => {
    undecided.current.set(`${model} ${url}`, MAX_TRIES);
    setFilesByModel(before => new Map(before).set(`${model} ${url}`, file));
  };
  const files = filesOf(drafts.draft.chosen);
  useEffect(() => {
    for (const file of files) {
      const key = `${model} ${file.url}`;
      const tries = undecided.current.get(key) ?? 0;
      if (tries < MAX_TRIES && !waiting.current.has(key)) {
        undecided.current.set(key, tries + 1);
        waiting.current.add(key);
        void prompts.attach(file, model).then(fileOrProblem => {
          waiting.current.delete(key);
          if (typeof fileOrProblem !== 'string') {
            addFile(fileOrProblem, file.url);
          } else {
            setTimeout(() => {
              askAgain(before => before + 1);
            }, AGAIN_MS);
          }
        });
      }
    }
  });
  const known = useMemo(
    () =>
      new Map(
        [...filesByModel].flatMap(([key, file]) =>
          key.startsWith(`${model} `)
            ? [[key.slice(model.length + 1), file] as const]
            : []
        )
      ),
    [filesByModel, model]
  );
  return { known, addFile };
}

/** An event of JupyterLab's own drags. */
interface IDragHere extends Event {
  readonly mimeData: IMimeData;
  readonly proposedAction: string;
  dropAction: string;
}

/** Listens to drags of cells and of files from the file browser. */
function useDragsHere(
  form: RefObject<HTMLFormElement>,
  readOnly: boolean,
  onOver: (isOver: boolean) => void,
  onDrop: (content: ITransferred) => void
): void {
  const newest = useLatest({ readOnly, onOver, onDrop });
  useEffect(() => {
    const node = form.current;
    const listen = (event: Event) => {
      const drag = event as IDragHere;
      const now = newest.current;
      if (now.readOnly || !isAttachable(drag.mimeData)) {
        return;
      }
      drag.preventDefault();
      drag.stopPropagation();
      now.onOver(drag.type === 'lm-dragenter' || drag.type === 'lm-dragover');
      // What is dragged stays where it is, whatever its source proposes.
      drag.dropAction =
        drag.type === 'lm-dragleave' ? 'none' : drag.proposedAction;
      if (drag.type === 'lm-drop') {
        now.onDrop(transferredInLab(drag.mimeData));
      }
    };
    const listening = new AbortController();
    for (const type of DRAGS) {
      node?.addEventListener(type, listen, { signal: listening.signal });
    }
    return () => {
      listening.abort();
    };
  }, [form, newest]);
}

const DRAGS = ['lm-dragenter', 'lm-dragover', 'lm-dragleave', 'lm-drop'];

/** Draws what is asked about large files, and why something was not attached. */
export function PastedFilesStatus({ pasted }: { pasted: IPastedFiles }) {
  const { words } = useHost();
  return (
    <>
      <span className="plm-Hidden" role="status">
        {pasted.reading > 0 && words.__('Reading what was pasted')}
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
    LARGEST_BYTES / 1_000_000
  );
}
