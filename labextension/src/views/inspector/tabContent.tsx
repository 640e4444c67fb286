/** The content of each inspector tab, below the tracks that move the cursor. */
import { useDeferredValue, type ReactNode } from 'react';
import { useHost } from '../host';
import { Disclosure } from '../controls/disclosure';
import {
  InspectorCursorProvider,
  useInspectorCursor
} from './controls/inspection';
import type { IPolicyTrack } from './controls/policyTrack';
import { BreaksTable } from './costs/breaksTable';
import { CostChart } from './costs/costChart';
import { FiguresTable } from './costs/figuresTable';
import { Notes, Wastes } from './costs/wastes';
import type { TabName } from './inspectorHeader';
import { ChosenItemCard, ItemCard } from './items/itemCard';
import { GridLegend } from './items/gridLegend';
import { ItemGrid } from './items/itemGrid';
import { WindowTable } from './items/windowTable';
import { Compactions } from './requests/compactions';
import { DifferenceView } from './requests/differenceView';
import { RequestTable } from './requests/requestTable';
import { RequestViewer } from './requests/requestViewer';
import { Subagents } from './requests/subagents';
import { ShownTrackChoice } from './shownTrackChoice';
import { CursorSentence } from './timeline/cursorSentence';
import { PolicyControls } from './timeline/policyControls';
import { TimelineTracks } from './timeline/timelineTracks';

interface ITabContentProps {
  tab: TabName;
  policy: string;
  track: IPolicyTrack;
  onPrice: (price: string | null) => void;
}

/** Draws one tab. */
export function TabContent(props: ITabContentProps) {
  const { tab } = props;
  if (tab === 'timeline') {
    return <TimelineTab {...props} />;
  }
  const controls = <PolicyControls {...props} />;
  return (
    <>
      <TimelineTracks isSmall />
      <ShownTrackChoice />
      <DeferredCursor>
        <CursorSentence />
        {tab === 'items' && <ItemsTab />}
        {tab === 'requests' && <RequestsTab />}
        {tab === 'cost' && (
          <>
            {controls}
            <div className="plm-Inspector-columns">
              <div className="plm-Inspector-card">
                <CostChart />
              </div>
              <div className="plm-Inspector-card">
                <FiguresTable />
              </div>
            </div>
            <div className="plm-Inspector-card">
              <BreaksTable />
            </div>
          </>
        )}
        {tab === 'wastes' && (
          <div className="plm-Inspector-columns">
            <div className="plm-Inspector-card">
              <Wastes />
            </div>
            <div className="plm-Inspector-stack">
              <ChosenItemCard />
              <div className="plm-Inspector-card">
                <Notes />
              </div>
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

function TimelineTab(props: ITabContentProps) {
  const { words } = useHost();
  return (
    <>
      <TimelineTracks />
      <DeferredCursor>
        <CursorSentence />
      </DeferredCursor>
      <PolicyControls {...props} />
      <Disclosure
        className="plm-Inspector-asTable"
        head={words.__('The same as a table')}
      >
        <RequestTable />
      </Disclosure>
      <ShownTrackChoice />
      <DeferredCursor>
        <div className="plm-Inspector-columns">
          <ItemsCard height={440} />
          <div className="plm-Inspector-stack">
            <div className="plm-Inspector-card">
              <DifferenceView />
            </div>
            <div className="plm-Inspector-card">
              <BreaksTable isShort />
              <Wastes isShort />
            </div>
          </div>
        </div>
      </DeferredCursor>
    </>
  );
}

function ItemsCard({ height }: { height: number }) {
  const { words } = useHost();
  return (
    <div className="plm-Inspector-card">
      <div className="plm-Inspector-head">
        <h3>{words.__('Items by requests')}</h3>
        <GridLegend />
      </div>
      <ItemGrid height={height} />
      <ItemCard />
    </div>
  );
}

function ItemsTab() {
  return (
    <div className="plm-Inspector-columns">
      <ItemsCard height={560} />
      <div className="plm-Inspector-card">
        <WindowTable />
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
          <RequestTable />
        </div>
        <div className="plm-Inspector-card">
          <DifferenceView />
        </div>
        <ChosenItemCard />
        <div className="plm-Inspector-card">
          <Compactions />
          <Subagents />
        </div>
      </div>
      <div className="plm-Inspector-card">
        <RequestViewer />
      </div>
    </div>
  );
}
