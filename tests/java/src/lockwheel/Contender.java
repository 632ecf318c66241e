package lockwheel;

/** How a client uses one object in each of its turns. */
interface Contender {
    void turn(Referee referee, long turn) throws Exception;
}
