/**
 * The model's Markdown, drawn block by block: closed blocks are drawn once.
 */
import { memo, useState } from 'react';
import {
  markdownBlocks,
  NO_BLOCKS,
  type IMarkdownBlocks
} from '../../state/text/markdownBlocks';
import {
  withoutOpenSurrogate,
  withoutLoneSurrogates
} from '../../protocol/surrogatePairs';
import {
  listingsInside,
  mayBePython,
  splitAtListings,
  wholeListing
} from '../../state/text/codeListing';
import { tableIn } from '../../state/text/markdownTable';
import { Copyable } from '../controls/buttons';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';
import { CodeActions } from './codeActions';

interface IMarkdownTextProps {
  text: string;
  isLive: boolean;
  /** The id of the text's part in an answer; with it, there are buttons below listings. */
  partId?: string;
}

/** Draws Markdown that may still grow. */
export function MarkdownText({ text, isLive, partId }: IMarkdownTextProps) {
  // A high surrogate at the end waits for its other half while the text grows.
  const { closedBlocks: closed, openBlock: open } = useBlocks(
    withoutLoneSurrogates(isLive ? withoutOpenSurrogate(text) : text)
  );
  const blocks = open.trim() === '' ? closed : [...closed, open];
  return (
    <div className="plm-Text" data-live={isLive} data-line={partId}>
      {paragraphGroups(blocks).map(
        ({ firstIndex, pieces, continuesParagraph }) => (
          <div
            key={firstIndex}
            className="plm-Block"
            dir="auto"
            data-joined={pieces.length > 1}
            data-continues={continuesParagraph}
          >
            {pieces.map((piece, index) => (
              <Block
                key={index}
                text={piece}
                isLive={isLive && firstIndex + index >= closed.length}
                partId={partId}
              />
            ))}
          </div>
        )
      )}
    </div>
  );
}

/** Returns the pieces of text by paragraph. */
function paragraphGroups(blocks: readonly string[]): IGroup[] {
  const groups: IGroup[] = [];
  let groupLength = 0;
  blocks.forEach((piece, index) => {
    const lastGroup = groups.at(-1);
    const continuesParagraph =
      lastGroup !== undefined && blocks[index - 1]?.endsWith('\n') === false;
    if (continuesParagraph && groupLength < MAX_GROUP_CHARS) {
      lastGroup.pieces.push(piece);
      groupLength += piece.length;
    } else {
      groups.push({ firstIndex: index, pieces: [piece], continuesParagraph });
      groupLength = piece.length;
    }
  });
  return groups;
}

interface IGroup {
  /** The index of the first piece. */
  firstIndex: number;
  pieces: string[];
  /** Whether it begins in the middle of a paragraph. */
  continuesParagraph: boolean;
}

/** A growing paragraph is laid out as a whole, so a huge one is split into several. */
const MAX_GROUP_CHARS = 5_000;

interface IBlockProps {
  text: string;
  /** Whether it may still grow. */
  isLive: boolean;
  partId: string | undefined;
}

/** Draws a block: the open one becomes a closed one without being drawn anew. */
const Block = memo(function Block({ text, isLive, partId }: IBlockProps) {
  const trimmed = text.replace(/\n+$/, '');
  const code =
    isLive && trimmed.length > MAX_COLOURED_CHARS
      ? unfinishedCode(trimmed)
      : null;
  if (code !== null) {
    return <pre className="plm-Listing">{code}</pre>;
  }
  const pieces = isLive ? [trimmed] : splitAtListings(trimmed);
  return pieces.map((piece, index) => (
    <CopyableBlock key={index} text={piece} isLive={isLive} partId={partId} />
  ));
});

/** Draws a listing or other Markdown; once it is complete, with buttons that copy its code and its table. */
function CopyableBlock({ text, isLive, partId }: IBlockProps) {
  const { Code, Markdown, words } = useHost();
  const listing = wholeListing(text);
  if (listing !== null) {
    const code = <Code text={listing.code} language={listing.language} />;
    return !isLive && partId !== undefined && mayBePython(listing) ? (
      <>
        {code}
        <CodeActions code={listing.code} partId={partId} />
      </>
    ) : (
      <Copyable copies={isLive ? [] : codeCopies([listing.code], words)}>
        {code}
      </Copyable>
    );
  }
  if (text.startsWith(REHEARSAL_START)) {
    return (
      <Disclosure
        className="plm-ModelNotice"
        head={
          <span className="plm-Work-words" title={plainParagraph(text)}>
            {plainParagraph(text)}
          </span>
        }
      >
        <Markdown text={text} />
      </Disclosure>
    );
  }
  return text.trim() === '' ? null : (
    <Copyable
      copies={
        isLive
          ? []
          : [
              ...codeCopies(listingsInside(text), words),
              ...tableCopies(text, words)
            ]
      }
    >
      <Markdown text={text} />
    </Copyable>
  );
}

/** How the rehearsal model begins its first answer; drawn as one line, which opens to the whole. */
const REHEARSAL_START = '*No language model is configured, ';

/** Returns a paragraph without its signs of emphasis and code. */
function plainParagraph(text: string): string {
  return text.trim().replaceAll(/^\*|\*$|`/g, '');
}

function codeCopies(codes: readonly string[], words: IWords) {
  return codes.map((code, index) => ({
    label: codes.length > 1 ? words.__('Copy %1', index + 1) : words.__('Copy'),
    name:
      codes.length > 1
        ? words.__('Copy %1: code', index + 1)
        : words.__('Copy the code'),
    title: words.__('Copies this code to the clipboard'),
    text: () => code
  }));
}

function tableCopies(text: string, words: IWords) {
  const table = tableIn(text);
  return table === null
    ? []
    : [
        {
          label: words.__('Copy as TSV'),
          title: words.__(
            'Copies the table as tab-separated values, for a spreadsheet'
          ),
          text: () => table.tsv
        },
        {
          label: words.__('Copy as Markdown'),
          title: words.__('Copies the table as it was written'),
          text: () => table.markdown
        }
      ];
}

/** A longer listing is coloured only when it is complete. */
const MAX_COLOURED_CHARS = 1_000;

/** Returns the code of a fence that is still open; otherwise null. */
function unfinishedCode(text: string): string | null {
  const fence = /^\s*(?:`{3,}|~{3,})[^\n]*\n/.exec(text);
  return fence === null ? null : text.slice(fence[0].length);
}

function useBlocks(text: string): IMarkdownBlocks {
  const [blocks, setBlocks] = useState(NO_BLOCKS);
  const newBlocks = markdownBlocks(text, blocks);
  if (newBlocks !== blocks) {
    setBlocks(newBlocks);
  }
  return newBlocks;
}
