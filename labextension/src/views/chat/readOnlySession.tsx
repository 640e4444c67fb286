/** A read-only view of a session: its title, activity and transcript. */
import { useState } from 'react';
import type { ITranscript } from '../../state/store/transcript';
import { useHost } from '../host';
import { Announcements } from '../transcript/liveRegion';
import { sessionTitle } from '../sessions/sessionLabels';
import { SessionActivity } from './sessionActivity';
import { Transcript } from '../transcript/transcript';
import { ContextWindow } from '../modelContext/contextWindow';

interface ISessionViewProps {
  transcript: ITranscript;
  /** A remark to the reader, such as that the kernel has ended; may be empty. */
  remark: string;
  /** Whether another live region of this page announces the session. */
  isQuiet?: () => boolean;
}

/** Draws the session. */
export function SessionView(props: ISessionViewProps) {
  const { transcript, remark, isQuiet } = props;
  const { words } = useHost();
  const [pinned, setPinned] = useState(false);
  const title = sessionTitle(transcript.session?.title ?? '', words);
  return (
    <section
      className="plm-Panel plm-View"
      aria-label={words.__('Session: %1', title)}
    >
      <div className="plm-Panel-head">
        <div className="plm-Panel-row">
          <h2 className="plm-Panel-title plm-View-title">{title}</h2>
          <SessionActivity transcript={transcript} />
        </div>
        <ContextWindow
          transcript={transcript}
          isPinned={pinned}
          onPin={setPinned}
        />
        {remark !== '' && (
          <p className="plm-Muted plm-View-remark" role="status">
            {remark}
          </p>
        )}
      </div>
      <Transcript
        transcript={transcript}
        readOnly
        emptyContent={
          <p className="plm-Muted">
            {words.__('Nothing was said in this session yet.')}
          </p>
        }
      />
      <Announcements transcript={transcript} isQuiet={isQuiet} />
    </section>
  );
}
