/** The parts of an inspector, hidden until they are revealed or shown alone: for a lesson, and for a prediction first. */
import { Fragment, type ReactElement, type ReactNode } from 'react';
import { useHost, type IWords } from '../host';
import type { InspectorPartName } from '../../state/inspector/source';
import { useInspectedSession } from './controls/inspection';
import type { IPolicyTrack } from './controls/policyTrack';
import { BreaksTable } from './costs/breaksTable';
import { CostChart } from './costs/costChart';
import { FiguresTable } from './costs/figuresTable';
import { Totals, Wastes } from './costs/wastes';
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
  const { hiddenParts } = useInspectedSession();
  if (!hiddenParts.has(part)) {
    return children;
  }
  return otherwise === undefined ? <HiddenPartNote part={part} /> : otherwise;
}

function HiddenPartNote({ part }: { part: InspectorPartName }) {
  const { words } = useHost();
  return (
    <p className="plm-HiddenPart plm-Muted" role="note" data-part={part}>
      <strong>{partNames(words)[part]}</strong>{' '}
      {words.__('Hidden until it is revealed.')}
    </p>
  );
}

/** The parts that are drawn in a card. */
type CardPart = Exclude<
  InspectorPartName,
  'tracks' | 'sentence' | 'policy' | 'card' | 'grid'
>;

const CARDS: Readonly<Record<CardPart, () => ReactElement>> = {
  difference: () => <DifferenceView />,
  window: () => <WindowTable />,
  requests: () => <RequestTable />,
  request: () => <RequestViewer />,
  search: () => <TextSearch />,
  compactions: () => (
    <>
      <Compactions />
      <Subagents />
    </>
  ),
  cost: () => <CostChart />,
  figures: () => <FiguresTable />,
  breaks: () => <BreaksTable />,
  wastes: () => <Wastes />,
  totals: () => <Totals />
};

interface IPartCardProps {
  part: CardPart;
  /** The content, where it is another than that of the part alone. */
  children?: ReactNode;
}

/** Draws a card with a part, or that it is hidden. */
export function PartCard({ part, children }: IPartCardProps) {
  return (
    <div className="plm-Inspector-card">
      <ShownPart part={part}>{children ?? CARDS[part]()}</ShownPart>
    </div>
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
      return <div className="plm-Inspector-card">{CARDS[part]()}</div>;
  }
}

/** Returns the names of the parts, as headings. */
function partNames(words: IWords): Record<InspectorPartName, string> {
  return {
    tracks: words.__('The window over the requests.'),
    sentence: words.__('What the request cost.'),
    policy: words.__('The policy.'),
    grid: words.__('Items by requests.'),
    card: words.__('The chosen item.'),
    difference: words.__('The difference of two requests.'),
    window: words.__('The window at the request.'),
    requests: words.__('Requests.'),
    request: words.__('The request as it is sent.'),
    search: words.__('Find in all requests.'),
    compactions: words.__('Compactions.'),
    cost: words.__('Cost.'),
    figures: words.__('Figures.'),
    breaks: words.__('Cache breaks.'),
    wastes: words.__('Largest wastes.'),
    totals: words.__('Totals.')
  };
}
