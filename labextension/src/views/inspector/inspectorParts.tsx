/** The parts of an inspector, hidden until they are revealed or shown alone: for a lesson, and for a prediction first. */
import { Fragment, type ReactElement, type ReactNode } from 'react';
import { useHost, type IWords } from '../host';
import type { InspectorPartName } from '../../state/inspector/source';
import { useInspectedSession } from './controls/inspection';
import type { IPolicyTrack } from './controls/policyTrack';
import { BreaksTable } from './costs/breaksTable';
import { CostChart } from './costs/costChart';
import { FiguresTable } from './costs/figuresTable';
import { Notes, Wastes } from './costs/wastes';
import { ChosenItemCard } from './items/itemCard';
import { ItemGrid } from './items/itemGrid';
import { WindowTable } from './items/windowTable';
import { Compactions } from './requests/compactions';
import { DifferenceView } from './requests/differenceView';
import { RequestTable } from './requests/requestTable';
import { RequestViewer } from './requests/requestViewer';
import { Subagents } from './requests/subagents';
import { TextSearch } from './requests/textSearch';
import { ShownTrackChoice } from './shownTrackChoice';
import { CursorSentence } from './timeline/cursorSentence';
import { KindLegend } from './timeline/kindLegend';
import { PolicyControls } from './timeline/policyControls';
import { RangeSentence } from './timeline/rangeSentence';
import { TimelineTracks } from './timeline/timelineTracks';

interface IShownPartProps {
  part: InspectorPartName;
  /** What stands for it where several parts share a card; by default a sentence. */
  otherwise?: ReactNode;
  children: ReactNode;
}

/** Draws a part, or that it is hidden. */
export function ShownPart({ part, otherwise, children }: IShownPartProps) {
  const { hidden } = useInspectedSession();
  if (!hidden.has(part)) {
    return children;
  }
  return otherwise === undefined ? <HiddenPartNote part={part} /> : otherwise;
}

function HiddenPartNote({ part }: { part: InspectorPartName }) {
  const { words } = useHost();
  return (
    <p className="plm-HiddenPart plm-Muted" role="note" data-part={part}>
      <strong>{partWords(part, words)}</strong>{' '}
      {words.__('Hidden until it is revealed.')}
    </p>
  );
}

interface IPartsAloneProps {
  parts: readonly InspectorPartName[];
  policy: string;
  track: IPolicyTrack;
  isExplained: boolean;
}

/** Draws some parts below each other, without the tabs. */
export function PartsAlone({ parts, ...policy }: IPartsAloneProps) {
  return (
    <div className="plm-Inspector-stack">
      {parts.map(part => (
        <Fragment key={part}>
          <ShownPart part={part}>{drawPart(part, policy)}</ShownPart>
        </Fragment>
      ))}
    </div>
  );
}

function drawPart(
  part: InspectorPartName,
  policy: Omit<IPartsAloneProps, 'parts'>
): ReactElement {
  switch (part) {
    case 'tracks':
      return (
        <div>
          <TimelineTracks isExplained={policy.isExplained} />
          <RangeSentence />
          <KindLegend />
        </div>
      );
    case 'sentence':
      return <CursorSentence />;
    case 'policy':
      return (
        <div>
          <PolicyControls {...policy} />
          <ShownTrackChoice />
        </div>
      );
    case 'card':
      return <ChosenItemCard />;
    case 'grid':
      return (
        <div className="plm-Inspector-card">
          <ItemGrid />
        </div>
      );
    default:
      return <div className="plm-Inspector-card">{drawTable(part)}</div>;
  }
}

function drawTable(
  part: Exclude<
    InspectorPartName,
    'tracks' | 'sentence' | 'policy' | 'card' | 'grid'
  >
): ReactElement {
  switch (part) {
    case 'difference':
      return <DifferenceView />;
    case 'window':
      return <WindowTable />;
    case 'requests':
      return <RequestTable />;
    case 'request':
      return <RequestViewer />;
    case 'search':
      return <TextSearch />;
    case 'compactions':
      return (
        <>
          <Compactions />
          <Subagents />
        </>
      );
    case 'cost':
      return <CostChart />;
    case 'figures':
      return <FiguresTable />;
    case 'breaks':
      return <BreaksTable />;
    case 'wastes':
      return <Wastes />;
    case 'totals':
      return <Notes />;
  }
}

/** Returns the name of a part, as a heading. */
function partWords(part: InspectorPartName, words: IWords): string {
  switch (part) {
    case 'tracks':
      return words.__('The window over the requests.');
    case 'sentence':
      return words.__('What the request cost.');
    case 'policy':
      return words.__('The policy.');
    case 'grid':
      return words.__('Items by requests.');
    case 'card':
      return words.__('The chosen item.');
    case 'difference':
      return words.__('The difference of two requests.');
    case 'window':
      return words.__('The window at the request.');
    case 'requests':
      return words.__('Requests.');
    case 'request':
      return words.__('The request as it is sent.');
    case 'search':
      return words.__('Find in all requests.');
    case 'compactions':
      return words.__('Compactions.');
    case 'cost':
      return words.__('Cost.');
    case 'figures':
      return words.__('Figures.');
    case 'breaks':
      return words.__('Cache breaks.');
    case 'wastes':
      return words.__('Largest wastes.');
    case 'totals':
      return words.__('Totals.');
  }
}
