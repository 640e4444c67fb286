import './base.css';
import './panel.css';
import './asked.css';
import './revert.css';
import './sessions.css';
import './permits.css';
import './task.css';
import './forced.css';
