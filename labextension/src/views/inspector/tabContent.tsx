/** The content of each inspector tab, below the tracks that move the cursor. */
import { useDeferredValue, type ReactNode } from 'react';
import { SmallButton } from '../controls/buttons';
import { useHost } from '../host';
import { Disclosure } from '../controls/disclosure';
import { useWindowHeight } from '../dom/sizes';
import {
  InspectorCursorProvider,
  useInspectedSession,
  useInspectorCursor
} from './controls/inspection';
import type { IPolicyTrack } from './controls/policyTrack';
import { ComparedTab } from './compared/comparedTab';
import { BreaksTable } from './costs/breaksTable';
import { Wastes } from './costs/wastes';
import type { TabName } from './inspectorHeader';
import { ChosenItemCard } from './items/itemCard';
import { HEAD_PX, ROW_PX } from './items/gridDrawing';
import { ItemGrid } from './items/itemGrid';
import { NoteList } from './notes/noteList';
import { NotesHereCard } from './notes/notesHere';
import { RequestTable } from './requests/requestTable';
import { PartCard, ShownPart } from './inspectorParts';
import { ShownTrackChoice } from './shownTrackChoice';
import { CursorSentence } from './timeline/cursorSentence';
import { KindLegend } from './timeline/kindLegend';
import { PolicyControls } from './timeline/policyControls';
import { RangeSentence } from './timeline/rangeSentence';
import { TimelineTracks } from './timeline/timelineTracks';
import { TermButton } from './glossary/term';

interface ITabContentProps {
  tab: TabName;
  policy: string;
  track: IPolicyTrack;
  /** Whether sentences explain what each picture shows. */
  isExplained: boolean;
}

/** Draws one tab. */
export function TabContent({ tab, ...props }: ITabContentProps) {
  if (tab === 'timeline') {
    return <TimelineTab {...props} />;
  }
  if (tab === 'compared') {
    return <ComparedTab />;
  }
  return (
    <>
      <ShownPart part="tracks">
        <TimelineTracks isSmall />
        <RangeSentence />
      </ShownPart>
      <ShownTrackChoice />
      <DeferredCursor>
        <ShownPart part="sentence">
          <CursorSentence />
        </ShownPart>
        {tab === 'items' && <ItemsTab />}
        {tab === 'requests' && <RequestsTab />}
        {tab === 'cost' && (
          <>
            <ShownPart part="policy">
              <PolicyControls {...props} isExplained />
            </ShownPart>
            <div className="plm-Inspector-columns">
              <PartCard part="cost" />
              <PartCard part="figures" />
            </div>
            <PartCard part="breaks" />
          </>
        )}
        {tab === 'notes' && (
          <div className="plm-Inspector-columns">
            <div className="plm-Inspector-card">
              <NoteList />
            </div>
            <div className="plm-Inspector-stack">
              <NotesHereCard isFormOnly />
              <ShownItemCard />
            </div>
          </div>
        )}
        {tab === 'wastes' && (
          <div className="plm-Inspector-columns">
            <PartCard part="wastes" />
            <div className="plm-Inspector-stack">
              <ShownItemCard />
              <PartCard part="totals" />
            </div>
          </div>
        )}
      </DeferredCursor>
    </>
  );
}

/** The views below the tracks follow the cursor as soon as there is time: the tracks come first. */
function DeferredCursor({ children }: { children: ReactNode }) {
  const cursor = useDeferredValue(useInspectorCursor());
  return (
    <InspectorCursorProvider value={cursor}>{children}</InspectorCursorProvider>
  );
}

/** Draws the tracks, what the request at the cursor holds and cost, the policy, and the grid with the card beside it. */
function TimelineTab(props: Omit<ITabContentProps, 'tab'>) {
  const { isExplained } = props;
  const { words } = useHost();
  const { goTo } = useInspectedSession();
  return (
    <>
      <ShownPart part="tracks">
        <TimelineTracks isExplained={isExplained} />
        <RangeSentence />
      </ShownPart>
      <div className="plm-Inspector-reading">
        <ShownPart part="tracks" otherwise={null}>
          <KindLegend />
        </ShownPart>
        <ShownTrackChoice />
        <SmallButton
          aria-expanded={isExplained}
          aria-label={words.__('What the pictures show')}
          title={words.__('What the pictures show')}
          onClick={() => {
            goTo({ explained: !isExplained });
          }}
        >
          ?
        </SmallButton>
        {isExplained && (
          <TermButton term={null} className="plm-Button plm-Button-small">
            {words.__('Glossary')}
          </TermButton>
        )}
      </div>
      <DeferredCursor>
        <ShownPart part="sentence">
          <CursorSentence />
        </ShownPart>
      </DeferredCursor>
      <ShownPart part="policy">
        <PolicyControls {...props} />
      </ShownPart>
      {isExplained && (
        <Disclosure
          className="plm-Inspector-asTable"
          head={words.__('The same as a table')}
        >
          <ShownPart part="requests">
            <RequestTable />
          </ShownPart>
        </Disclosure>
      )}
      <DeferredCursor>
        <div className="plm-Inspector-columns">
          <ItemsCard hasKinds={false} />
          <div className="plm-Inspector-stack">
            <ShownItemCard />
            <NotesHereCard />
            <PartCard part="difference" />
            <div className="plm-Inspector-card">
              <ShownPart part="breaks">
                <BreaksTable isShort />
              </ShownPart>
              <ShownPart part="wastes">
                <Wastes isShort />
              </ShownPart>
            </div>
          </div>
        </div>
      </DeferredCursor>
    </>
  );
}

/** The height of what stands above the grid of the Timeline tab, and of the status bar, in a window of JupyterLab. */
const ABOVE_PX = 640;
/** Fourteen rows, their head, and a bar to scroll by. */
const MIN_GRID_PX = HEAD_PX + 14 * ROW_PX + 18;
const MAX_GRID_PX = 560;

/** Draws the grid as high as the window leaves room, at least fourteen rows. */
function ItemsCard({ hasKinds }: { hasKinds: boolean }) {
  const { words } = useHost();
  const { item } = useInspectorCursor();
  const room = useWindowHeight() - ABOVE_PX;
  const height = hasKinds ? MAX_GRID_PX : Math.min(MAX_GRID_PX, room);
  return (
    <div className="plm-Inspector-card">
      <ShownPart part="grid">
        <ItemGrid height={Math.max(height, MIN_GRID_PX)} hasKinds={hasKinds} />
        {item === null && (
          <p className="plm-Muted">
            {words.__('Choose a square to read why it is, or is not, there.')}
          </p>
        )}
      </ShownPart>
    </div>
  );
}

/** Draws the card of the chosen item; nothing where it is hidden. */
function ShownItemCard() {
  return (
    <ShownPart part="card" otherwise={null}>
      <ChosenItemCard />
    </ShownPart>
  );
}

function ItemsTab() {
  return (
    <div className="plm-Inspector-columns">
      <ItemsCard hasKinds />
      <div className="plm-Inspector-stack">
        <ShownItemCard />
        <NotesHereCard />
        <PartCard part="window" />
      </div>
    </div>
  );
}

function RequestsTab() {
  const { words } = useHost();
  return (
    <div className="plm-Inspector-columns">
      <div className="plm-Inspector-stack">
        <div className="plm-Inspector-card">
          <h3>{words.__('Requests')}</h3>
          <ShownPart part="requests">
            <RequestTable />
          </ShownPart>
        </div>
        <PartCard part="difference" />
        <ShownItemCard />
        <PartCard part="compactions" />
      </div>
      <div className="plm-Inspector-stack">
        <NotesHereCard />
        <PartCard part="search" />
        <PartCard part="request" />
      </div>
    </div>
  );
}
